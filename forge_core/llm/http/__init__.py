"""Requests to the provider: connections, server-sent events, retries, errors, the wire format."""
