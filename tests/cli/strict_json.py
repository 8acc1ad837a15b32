"""Another reader of strict JSON, for tests of what is refused."""

import json


def is_strict_object(line):
    """Whether bytes are one JSON object in UTF-8, without NUL, unpaired surrogates and words such as NaN."""
    def no_constant(name):
        raise ValueError(name)
    try:
        value = json.loads(line.decode(), parse_constant=no_constant)
        text = json.dumps(value, ensure_ascii=False)
        text.encode()  # no unpaired surrogates
        return isinstance(value, dict) and "\\u0000" not in text.replace("\\\\", "")
    except (ValueError, RecursionError):
        return False
