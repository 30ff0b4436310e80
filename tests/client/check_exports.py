#!/usr/bin/env python3
"""Lists what libtentq exports: only the public C++ interface and the tentq_* calls, and every call
that tentq.h declares. Arguments: the library, tentq.h. Prints what is wrong and exits 1."""
import re
import subprocess
import sys

library, header = sys.argv[1:]
output = subprocess.run(["nm", "--dynamic", "--defined-only", library], check=True,
                        capture_output=True, text=True).stdout
names = {line.split()[2].split("@")[0] for line in output.splitlines() if len(line.split()) == 3}
declared = set(re.findall(r"\b(tentq_\w+)\(", re.sub(r"/\*.*?\*/", "", open(header).read(),
                                                     flags=re.S)))
errors = []
for name in sorted(names):
    # _ZN5tentq2v1…, _ZNK5tentq2v1… and the version node itself.
    if not re.match(r"_ZNK?5tentq2v1|tentq_|TENTQ_0$", name):
        errors.append(f"exported, but not public: {name}")
    if name.startswith("tentq_") and name not in declared:
        errors.append(f"exported, but not in tentq.h: {name}")
for name in sorted(declared - names):
    errors.append(f"declared in tentq.h, but not exported: {name}")
if len(declared) < 40:
    errors.append(f"only {len(declared)} calls found in tentq.h: the pattern is wrong")
needed = subprocess.run(["objdump", "-p", library], check=True, capture_output=True,
                        text=True).stdout
allowed = r"libstdc\+\+\.so|libgcc_s\.so|libc\.so|libm\.so|ld-linux|lib(a|t|ub)san|libclang_rt"
for line in needed.splitlines():
    words = line.split()
    if words[:1] == ["NEEDED"] and not re.match(allowed, words[1]):
        errors.append(f"linked to {words[1]}: libtentq needs the C and C++ runtime alone")
print("\n".join(errors) or f"{len(names)} exported symbols, all public")
sys.exit(1 if errors else 0)
