"""The program that node is started with: the module from descriptor 5, calls from stdin, a line of JSON each, answers
on descriptor 4. What takes time and needs no module is done before it waits for one.

A module finds packages of npm where they are mounted, in `/env/node_modules`.

A module that could read its own source could write the marks of places that it never passed. So its source is in no
file, and a function does not tell its own.
"""

STARTER = r"""
import { closeSync, readFileSync, readSync, writeSync } from "node:fs";
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
const { parse, stringify } = JSON, { isFinite } = Number, { isArray } = Array, { getPrototypeOf } = Object;
const plain = Object.prototype;
const end = process.exit.bind(process), Bytes = Buffer;
const packages = "file:///env/tool.mjs";
let file = "", source = "", format = "module";
registerHooks({
  resolve: (name, context, next) => {
    if (name === file) return { url: file, shortCircuit: true };
    return next(name, context.parentURL === file ? { ...context, parentURL: packages } : context);
  },
  load: (url, context, next) => url === file ? { format, source, shortCircuit: true } : next(url, context),
});
await import("data:text/javascript,");
writeSync(4, ".");
const given = readFileSync(5, "utf-8"), named = given.slice(0, given.indexOf("\n"));
closeSync(5);
file = pathToFileURL(named).href;
source = given.slice(named.length + 1);
if (file.endsWith(".mts")) format = "module-typescript";
process.argv = [process.execPath, named];
Function.prototype.toString = { toString() { return "function () { [native code] }"; } }.toString;
function* lines() {
  let kept = Bytes.alloc(0);
  const piece = Bytes.alloc(65536);
  for (;;) {
    const at = kept.indexOf(10);
    if (at >= 0) { yield kept.toString("utf-8", 0, at); kept = kept.subarray(at + 1); continue; }
    const count = readSync(0, piece);
    if (!count) return;
    kept = Bytes.concat([kept, piece.subarray(0, count)]);
  }
}
function unfit(value, path, depth) {
  if (value === null || typeof value === "string" || typeof value === "boolean") return "";
  if (typeof value === "number") return isFinite(value) ? "" : path + " is " + value;
  if (typeof value !== "object") return path + " is of type " + typeof value;
  if (depth > 500) return path + " is nested too deeply";
  if (isArray(value)) {
    for (let n = 0; n < value.length; n++) {
      const why = unfit(value[n], path + "[" + n + "]", depth + 1);
      if (why) return why;
    }
    return "";
  }
  const kind = getPrototypeOf(value);
  if (kind !== plain && kind !== null) return path + " is a " + (value.constructor?.name ?? "object of its own kind");
  for (const name in value) { const why = unfit(value[name], path + "." + name, depth + 1); if (why) return why; }
  return "";
}
function told(error) {
  if (!(error instanceof Error)) return { error: String(error), kinds: ["Thrown", "Exception"], trace: "" };
  const name = String(error.name), text = String(error.message);
  const odd = /call stack size|Invalid (array|string|typed array) length|Array buffer allocation/.test(text);
  const known = {
    RangeError: ["RangeError", "ValueError"], ReferenceError: ["ReferenceError", "NameError"],
    SyntaxError: ["SyntaxError"], TypeError: ["TypeError"], Error: ["Error"],
  };
  const kinds = odd ? ["MemoryError"] : known[name] ?? [name, "ValueError"];
  return { error: text, kinds: [...kinds, "Exception"], trace: String(error.stack ?? "") };
}
function answer(value) {
  let text = Bytes.from(stringify(value) + "\n");
  while (text.length) text = text.subarray(writeSync(4, text));
}
let tool = null;
for (const line of lines()) {
  try {
    tool ??= await import(file);
    const result = await tool.run(parse(line));
    const why = unfit(result, "the result", 0);
    const error = "run() returned what is no JSON value: " + why;
    answer(why ? { error, kinds: ["TypeError", "Exception"], trace: "" } : { result });
  } catch (error) { answer(told(error)); }
}
end(0);
"""
