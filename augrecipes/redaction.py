"""Redact the secrets of addresses: passwords, keys and signatures become three stars.

The time is linear in the length of the text: patterns run only on pieces that are known to hold their last character.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

_STARS = "***"
_SHORTEST = 3  # characters of a secret that is replaced wherever it occurs: shorter ones occur in every word
_WORD, _PIECE = re.compile(r"\S+"), re.compile(r"[^\s?#]+")
# User and password: up to the last @ before a slash, or before the path where the secret itself has slashes, as S3 keys
# may. A port is no password. A user alone is a name, except for HTTP, where it is a token.
_USER = re.compile(r"(?<=[A-Za-z0-9+.\-]{2})(:/{1,2})([^/@:]*:(?:[^/]*|(?!\d+/)[^@]*))@")
_KEYS = re.compile(r"(\bs3[an]?:/{1,2})([^/@:]+:[^@]+)@")  # an S3 secret may look like a port and a path
_TOKEN = re.compile(r"(\bhttps?:/{1,2})([^/:]+)@", re.IGNORECASE)
_USERINFO = _USER, _KEYS, _TOKEN
_QUERY = re.compile(r"[^?#]*[?#].")
_NAME, _VALUE, _TRAILING = re.compile(r"([?&#]?)([^=&?#]*)(=?)"), re.compile(r"[^&'\"<>]*"), ".,:;)]}"
# Names of credentials in a query: sig=, X-Amz-Signature=, access_token=, AWSAccessKeyId=, ...
_CREDENTIAL = re.compile("sig|token|key|secret|pass|pwd|auth|cred|policy|jwt|session|access", re.IGNORECASE)


def redact(text: str) -> str:
    """Replace the secrets of the addresses in `text` by stars; what names a file stays.

    >>> redact("https://me:hush@host/a.jpg?id=7&sig=a%2Fb: no such file"), redact("s3://key:sec/ret@bucket/b@2.jpg")
    ('https://***@host/a.jpg?id=7&sig=***: no such file', 's3://***@bucket/b@2.jpg')
    >>> redact("sftp://me@host/a.jpg"), redact("http://host:80/a@2.jpg"), redact("photos/a@2.jpg?key=1")
    ('sftp://me@host/a.jpg', 'http://host:80/a@2.jpg', 'photos/a@2.jpg?key=1')
    """
    if ":/" not in text:
        return text
    text = _PIECE.sub(lambda found: _without_users(found[0]), text)
    return _WORD.sub(lambda found: _without_signatures(found[0]), text)


def redact_from(address: str, text: str) -> str:
    """Redact `text`, and also the secrets of `address` wherever they occur: drivers quote parts of addresses.

    >>> redact_from("sftp://me:hush@host/a", "hush is no password of me at host/a")
    '*** is no password of me at host/a'
    """
    text = redact(text)
    fronts = [piece[: piece.rfind("@") + 1] for piece in _PIECE.findall(address)]
    pairs = [found[2] for front in fronts for pattern in _USERINFO for found in pattern.finditer(front)]
    signatures = [word[slice(*span)] for word in _WORD.findall(address) for span in _signatures(word)]
    words = [*pairs, *(pair.partition(":")[2] for pair in pairs), *signatures]
    for word in sorted({*words, *map(unquote, words)}, key=len, reverse=True):
        text = text.replace(word, _STARS) if len(word) >= _SHORTEST else text
    return text


def _without_users(piece: str) -> str:
    end = piece.rfind("@") + 1  # users and passwords are in front
    front, rest = piece[:end], piece[end:]
    for pattern in _USERINFO if front else ():
        front = pattern.sub(rf"\1{_STARS}@", front)
    return front + rest


def _without_signatures(word: str) -> str:
    start = word.find(":/")
    if start < 0 or _QUERY.match(word, start) is None:
        return word
    parts, at = [], 0
    for begin, end in _signatures(word, start):
        parts += [word[at:begin], _STARS]
        at = end
    return "".join([*parts, word[at:]])


def _signatures(word: str, at: int = 0) -> Iterator[tuple[int, int]]:
    """Yield where the values of credentials begin and end, from `at` on."""
    while at < len(word):
        starter, name, equals = _NAME.match(word, at).groups()  # type: ignore[union-attr]  # matches anything
        at += len(starter + name + equals)
        # A name begins after ?, & or #, or elsewhere after a semicolon.
        if equals and _CREDENTIAL.search(name if starter else name.partition(";")[2]):
            end = at + len(_VALUE.match(word, at)[0].rstrip(_TRAILING))  # type: ignore[index]  # so does this
            yield at, end
            at = end


def redact_all(value: Any) -> Any:
    """Redact all texts of a JSON value.

    >>> redact_all({"files": ["https://me:hush@host/a.jpg", 1]})
    {'files': ['https://***@host/a.jpg', 1]}
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact_all(key): redact_all(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [redact_all(entry) for entry in value]
    return value
