"""Key_Shared step by step: who joined with which ranges, who got which key, and what drained."""
