"""Forge as an agent for editors: the Agent Client Protocol (https://agentclientprotocol.com), version 1, over
standard input and output.

Only the process of `forge acp` imports the protocol's SDK.
"""
