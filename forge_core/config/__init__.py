"""Settings: their declarations (`settings`), where values come from (`load`), how one is kept (`save`)."""
