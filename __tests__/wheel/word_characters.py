"""Which characters Python takes for a part of a word, and which its edition of Unicode does not know."""

import json
import re
import sys
import unicodedata

characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
json.dump(
    {
        "edition": unicodedata.unidata_version,
        "words": [ord(character) for character in characters if re.match(r"\w", character)],
        "unknown": [ord(character) for character in characters if unicodedata.category(character) == "Cn"],
    },
    sys.stdout,
)
