"""Makes a site of docs as it is: lists the decisions, and turns links that leave docs into links to the repository."""

import logging
import re
from pathlib import Path

LINK = re.compile(r"\]\((\.\./[^)#\s]+)(#[^)\s]*)?\)")
log = logging.getLogger("mkdocs.hooks.ken")


def on_config(config):
    records = sorted(Path(config.docs_dir, "decisions").glob("0*.md"))
    config.nav.append({"Decisions": ["decisions/README.md", *(f"decisions/{record.name}" for record in records)]})


def on_page_markdown(markdown, page, config, files):
    docs = Path(config.docs_dir).resolve()
    root = docs.parent

    def there(link):
        target = (docs / page.file.src_uri).parent.joinpath(link[1]).resolve()
        if target.is_relative_to(docs) or not target.is_relative_to(root):
            return link[0]
        if not target.exists():
            log.warning("%s links to %s, and there is no such file", page.file.src_uri, link[1])
        kind = "tree" if target.is_dir() else "blob"
        return f"]({config.extra['repository']}/{kind}/main/{target.relative_to(root).as_posix()}{link[2] or ''})"

    return LINK.sub(there, markdown)
