"""Addresses as they may be shown and written down: passwords, keys and signatures in them are three stars."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

_STARS = "***"
_SHORTEST = 3  # characters of a secret that is looked for by itself: shorter ones are in every word
# A user and a password: up to the last @ before a slash, or before the path where the secret has slashes in it, as keys
# of S3 do. What looks like a port is none. A user alone is a name, but for the web, where it is a token.
_USER = re.compile(r"(?<=[A-Za-z0-9+.\-]{2})(:/{1,2})([^\s/?#@:]*:(?:[^\s/?#]*|(?!\d+/)[^\s?#@]*))@")
_KEYS = re.compile(r"(\bs3[an]?:/{1,2})([^\s/?#@:]+:[^\s?#@]+)@")  # whose secret may begin as a port and a path do
_TOKEN = re.compile(r"(\bhttps?:/{1,2})([^\s/?#:]+)@", re.IGNORECASE)
_OF_USERS = _USER, _KEYS, _TOKEN
_BEHIND = re.compile(r":/{1,2}[^\s?#]*[?#]\S+")
_SAID = re.compile(  # of a query what speaks for who asks: sig=, X-Amz-Signature=, access_token=, AWSAccessKeyId=, ...
    r"([?&#;][^\s=&?#]*(?:sig|token|key|secret|pass|pwd|auth|cred|policy|jwt|session|access)[^\s=&?#]*=)"
    r"([^\s&'\"<>]*?)(?=[.,:;)\]}]*(?:[\s&'\"<>]|$))",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """`text` without the secrets of the addresses in it; what names a file stays.

    >>> masked("https://me:hush@host/a.jpg?id=7&sig=a%2Fb: no such file"), masked("s3://key:sec/ret@bucket/b@2.jpg")
    ('https://***@host/a.jpg?id=7&sig=***: no such file', 's3://***@bucket/b@2.jpg')
    >>> masked("sftp://me@host/a.jpg"), masked("http://host:80/a@2.jpg"), masked("photos/a@2.jpg?key=1")
    ('sftp://me@host/a.jpg', 'http://host:80/a@2.jpg', 'photos/a@2.jpg?key=1')
    """
    if ":/" not in text:
        return text
    for pattern in _OF_USERS:
        text = pattern.sub(rf"\1{_STARS}@", text)
    return _BEHIND.sub(lambda match: _SAID.sub(rf"\1{_STARS}", match[0]), text)


def masked_of(address: str, text: str) -> str:
    """`text` without secrets, and without those of an address wherever they stand: drivers cut addresses up.

    >>> masked_of("sftp://me:hush@host/a", "hush is no password of me at host/a")
    '*** is no password of me at host/a'
    """
    text = masked(text)
    pairs = [match[2] for pattern in _OF_USERS for match in pattern.finditer(address)]
    words = [*pairs, *(pair.partition(":")[2] for pair in pairs), *(match[2] for match in _SAID.finditer(address))]
    for word in sorted({*words, *map(unquote, words)}, key=len, reverse=True):
        text = text.replace(word, _STARS) if len(word) >= _SHORTEST else text
    return text


def all_masked(found: Any) -> Any:
    """What JSON may hold, with all texts masked.

    >>> all_masked({"files": ["https://me:hush@host/a.jpg", 1]})
    {'files': ['https://***@host/a.jpg', 1]}
    """
    if isinstance(found, str):
        return masked(found)
    if isinstance(found, dict):
        return {all_masked(key): all_masked(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [all_masked(value) for value in found]
    return found
