"""Screens over the chat: palette, help, theme picker."""
