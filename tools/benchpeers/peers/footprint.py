"""Prints the installed size of packages with all that they require: footprint.py NAME... gives
{name: {"own": bytes, "all": bytes}}."""

import json
import re
import sys
from importlib import metadata


def closure(name, seen):
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in seen:
        return
    try:
        d = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return  # wanted on other platforms or by extras only
    seen[key] = sum(f.locate().stat().st_size for f in d.files or [] if f.locate().is_file())
    for r in d.requires or []:
        if "extra ==" not in r:
            closure(re.match(r"[A-Za-z0-9._-]+", r).group(), seen)


sizes = {}
for name in sys.argv[1:]:
    seen = {}
    closure(name, seen)
    sizes[name] = {"own": next(iter(seen.values()), 0), "all": sum(seen.values())}
print(json.dumps(sizes))
