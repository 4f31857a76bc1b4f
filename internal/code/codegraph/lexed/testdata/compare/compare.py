"""Compare declarations with those of a parser, both as JSON lines.

    python3 compare.py truth.jsonl ours.jsonl [--show N] [--suffix .ts,.tsx]

A declaration is a file, the name of its parent and its own name; several of one name
count once. Files that only one side has are left out.
"""
import argparse
import collections
import json

ap = argparse.ArgumentParser()
ap.add_argument("truth")
ap.add_argument("ours")
ap.add_argument("--show", type=int, default=10)
ap.add_argument("--suffix", default="")
args = ap.parse_args()


def load(p):
    keys, lines, files = set(), {}, set()
    with open(p, encoding="utf8", errors="replace") as fh:
        for l in fh:
            d = json.loads(l)
            if args.suffix and not d["file"].endswith(tuple(args.suffix.split(","))):
                continue
            files.add(d["file"])
            if d["name"] != "" and not d["name"].startswith("operator"):
                k = (d["file"], d["parent"], d["name"])
                keys.add(k)
                lines.setdefault(k, d["line"])
    return keys, lines, files


truth, tl, tf = load(args.truth)
ours, ol, of = load(args.ours)
both = tf & of
truth = {k for k in truth if k[0] in both}
ours = {k for k in ours if k[0] in both}
for what, t, o in (
    ("top level", {k for k in truth if not k[1]}, {k for k in ours if not k[1]}),
    ("members", {k for k in truth if k[1]}, {k for k in ours if k[1]}),
):
    hit = len(t & o)
    print(f"{what}: {len(t)} declared, {len(o)} found, recall {hit / max(1, len(t)):.4f}, precision {hit / max(1, len(o)):.4f}")
for what, ks, ln in (("missed", truth - ours, tl), ("wrong", ours - truth, ol)):
    per = collections.Counter(k[0] for k in ks)
    print(f"{what}: {len(ks)} in {len(per)} files; worst {per.most_common(5)}")
    seen = collections.Counter()
    n = 0
    for k in sorted(ks):
        seen[k[0]] += 1
        if seen[k[0]] <= 2 and n < args.show:
            n += 1
            print(f"  {k[0]}:{ln[k]}: {k[1]}.{k[2]}")
