"""A tool that leaves its work to packages of npm, and a registry that has them."""

from __future__ import annotations

from tests.support.servers.npm_registry import Package

WORDS_OF_NPM = r"""import { tally } from "word-tally";

/**
 * The most frequent words of a text; equal ones by their letters.
 * @param {{text: string, most: number}} input
 * @returns {Promise<{word: string, count: number}[]>}
 */
export async function run(input) {
  const { text, most } = input;
  if (most < 1) {
    throw new RangeError("most has to be at least 1");
  }
  return tally(text.toLowerCase().match(/[a-z]+/g) ?? []).slice(0, most);
}
"""
REQUIRED = ("word-tally@^1.2",)
RAN = "import { writeFileSync } from 'node:fs'; writeFileSync(process.env.HOME + '/ran-of-npm', 'x');"


def offered() -> list[Package]:
    """An ES module that needs a CommonJS one by another name, beside another version of that; all with install scripts."""
    scripts = {name: "node ran.mjs; touch ran" for name in ("preinstall", "install", "postinstall")}
    tally = """import order from "order-by";
export function tally(words) {
  const counts = new Map();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return order([...counts].map(([word, count]) => ({ word, count })));
}
"""
    order = "module.exports = (all) => all.sort((a, b) => b.count - a.count || (a.word < b.word ? -1 : 1));\n"
    return [
        Package(
            "word-tally",
            "1.2.5",
            files={"lib/index.js": tally, "ran.mjs": RAN},
            manifest={
                "type": "module",
                "exports": "./lib/index.js",
                "scripts": scripts,
                "dependencies": {"order-by": "npm:@in/order@2", "@in/order": "^1"},
            },
        ),
        Package("word-tally", "2.0.0", files={"index.js": "throw new Error('too new')"}),
        Package("@in/order", "1.0.0", files={"index.js": "throw new Error('too old')"}),
        Package(
            "@in/order", "2.3.4", files={"index.js": order, "ran.mjs": RAN}, manifest={"scripts": scripts}
        ),
    ]
