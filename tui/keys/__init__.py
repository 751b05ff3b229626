"""The screen of a Key_Shared subscription: who gets which key."""
