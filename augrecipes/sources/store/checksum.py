"""CRC-32 of bytes: by ISA-L where it is installed, which takes a fraction of the time that zlib does."""

from __future__ import annotations

__all__ = ["crc32"]

try:
    from isal.isal_zlib import crc32
except ImportError:  # it is built for few processors
    from zlib import crc32
