"""A loopback MCP server that wants a sign-in, with its authorization server, in a thread.

Faults besides those of `HttpMcpServer`: `denies` (the user says no), `other-state`, `other-issuer`, `no-registration`,
`renewal:503` (and other statuses), `no-pkce`, `plain-elsewhere` (the token endpoint is another machine's, without TLS),
`refuses-new` (the new tokens are no good).
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from tests.support.mcp_http_server import Answer, HttpMcpServer


class OAuthMcpServer(HttpMcpServer):
    """`tokens` are those that count, with their scopes. The tool `admin` needs the scope `admin`."""

    def __init__(self, *faults: str, lifetime_s: int | None = 3600) -> None:
        super().__init__(*faults)
        self.lifetime_s = lifetime_s
        self.tokens: dict[str, str] = {}
        self.renewal_tokens: dict[str, str] = {}
        """Each counts once."""
        self.registrations: list[dict[str, Any]] = []
        self.authorizations: list[dict[str, str]] = []
        self.token_requests: list[dict[str, str]] = []
        self.token_headers: list[str] = []
        self.default_scope = "read"
        self.challenge = f'Bearer resource_metadata="{self.origin}/.well-known/oauth-protected-resource/mcp"'
        self._issuing = threading.Lock()
        self.pages = {
            "/.well-known/oauth-protected-resource/mcp": lambda query, body, headers: self._json(
                self._resource()
            ),
            "/.well-known/oauth-authorization-server": lambda query, body, headers: self._json(
                self._metadata()
            ),
            "/register": lambda query, body, headers: self._register(json.loads(body)),
            "/authorize": lambda query, body, headers: self._authorize(dict(query)),
            "/token": lambda query, body, headers: self._token(
                dict(parse_qsl(body.decode())), headers.get("authorization", "")
            ),
        }

    def accepts(self, authorization: str) -> bool:
        return authorization.removeprefix("Bearer ") in self.tokens

    def refusal(self, body: Mapping[str, Any], authorization: str) -> tuple[int, str] | None:
        refused = super().refusal(body, authorization)
        if refused or body.get("params", {}).get("name") != "admin":
            return refused
        if "admin" in self.tokens[authorization.removeprefix("Bearer ")].split():
            return None
        return 403, f'{self.challenge}, error="insufficient_scope", scope="admin"'

    def renewals(self) -> int:
        return sum(one["grant_type"] == "refresh_token" for one in self.token_requests)

    def _resource(self) -> dict[str, Any]:
        return {"resource": self.url, "authorization_servers": [self.origin], "scopes_supported": ["read"]}

    def _metadata(self) -> dict[str, Any]:
        elsewhere = "plain-elsewhere" in self.faults
        metadata = {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": "http://as.example.test/token" if elsewhere else f"{self.origin}/token",
            "authorization_response_iss_parameter_supported": True,
            "code_challenge_methods_supported": ["plain"] if "no-pkce" in self.faults else ["S256"],
        }
        if "no-registration" not in self.faults:
            metadata["registration_endpoint"] = f"{self.origin}/register"
        return metadata

    def _register(self, asked: dict[str, Any]) -> Answer:
        if "no-registration" in self.faults:
            return 404, b"", {}
        self.registrations.append(asked)
        return self._json({**asked, "client_id": f"client-{len(self.registrations)}"}, 201)

    def _authorize(self, query: dict[str, str]) -> Answer:
        self.authorizations.append(query)
        answer = {"state": query["state"], "iss": self.origin}
        if "denies" in self.faults:
            answer |= {"error": "access_denied", "error_description": "the user said no"}
        else:
            answer["code"] = f"code-{len(self.authorizations)}"
        if "other-state" in self.faults:
            answer["state"] = "another"
        if "other-issuer" in self.faults:
            answer["iss"] = "https://other.example.test"
        return 302, b"", {"location": f"{query['redirect_uri']}?{urlencode(answer)}"}

    def _token(self, form: dict[str, str], authorization: str) -> Answer:
        with self._issuing:
            self.token_requests.append(form)
            self.token_headers.append(authorization)
            if form["grant_type"] == "refresh_token":
                status = self.fault("renewal")
                scope = self.renewal_tokens.pop(form["refresh_token"], None)
                if status or scope is None:
                    return self._json({"error": "invalid_grant"}, int(status or 400))
                return self._issue(scope)
            asked = self.authorizations[int(form["code"].removeprefix("code-")) - 1]
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
                return self._json({"error": "invalid_grant"}, 400)
            return self._issue(asked.get("scope") or self.default_scope)

    def _issue(self, scope: str) -> Answer:
        number = len(self.token_requests)
        access, renewal = f"acc3ss-{number}-{time.time_ns()}", f"ren3wal-{number}-{time.time_ns()}"
        self.renewal_tokens[renewal] = scope
        if "refuses-new" not in self.faults:
            self.tokens[access] = scope
        content = {"access_token": access, "token_type": "Bearer", "refresh_token": renewal, "scope": scope}
        if self.lifetime_s is not None:
            content["expires_in"] = self.lifetime_s
        return self._json(content)

    def _json(self, content: Any, status: int = 200) -> Answer:
        return status, json.dumps(content).encode(), {"content-type": "application/json"}


def browse(url: str) -> tuple[int, str]:
    """Do what a browser does with a URL; return the status and the text of the last page."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
