"""The screen of a topic's producers: who has opened which partition."""
