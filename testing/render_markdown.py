"""
Renders Markdown as GitHub does (cmark-gfm): a JSON array of texts in, an array of {elements, codes, links} out.

`elements` contains the names of all start tags in order, `codes` the texts of all code elements.
"""

import html.parser
import json
import sys

import cmarkgfm
from cmarkgfm.cmark import Options


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.elements, self.codes, self.links, self.in_code = [], [], [], False

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        if tag == "code":
            self.in_code = True
            self.codes.append("")
        if tag == "a":
            self.links.append(dict(attributes).get("href"))

    def handle_endtag(self, tag):
        if tag == "code":
            self.in_code = False

    def handle_data(self, data):
        if self.in_code:
            self.codes[-1] += data


def read(text):
    reader = Reader()
    # GitHub keeps HTML in this step, and removes elements that are not on its list afterwards.
    reader.feed(cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE))
    reader.close()
    return {"elements": reader.elements, "codes": reader.codes, "links": reader.links}


json.dump([read(text) for text in json.load(sys.stdin)], sys.stdout)
