"""Shapes of secrets from a maintained library (detect-secrets), in addition to those of `spine/redaction.py`.

Only its patterns are used, not its scanner, and nothing is sent anywhere. Patterns with many false positives are left
out: those for words such as `password` or for entropy would match half of any code.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module

from alita_tui.spine.redaction import Rule

_TAKEN = (
    # The library's module, its class, a part that every such text contains.
    ("azure_storage_key", "AzureStorageKeyDetector", "AccountKey="),
    ("mailchimp", "MailchimpDetector", "-us"),
    ("sendgrid", "SendGridDetector", "SG."),
    ("slack", "SlackDetector", "hooks.slack.com"),
    ("square_oauth", "SquareOAuthDetector", "sq0csp-"),
    ("telegram_token", "TelegramBotTokenDetector", ":AA"),
    ("twilio", "TwilioKeyDetector", "AC"),
    ("twilio", "TwilioKeyDetector", "SK"),
)


@cache
def library_rules() -> tuple[Rule, ...]:
    """Return the rules; the first call imports them (0.2 s), so it runs in a thread after the first paint."""
    rules: list[Rule] = []
    for module, name, marker in _TAKEN:
        detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)
        for shape in detector.denylist:
            bounded = rf"(?<![A-Za-z0-9])(?:{shape.pattern})(?![A-Za-z0-9])"
            rules.append((marker, f"[redacted {detector.secret_type}]", re.compile(bounded, shape.flags)))
    return tuple(rules)
