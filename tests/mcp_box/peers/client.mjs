// A client of the TypeScript SDK: `node client.mjs COMMAND…` over stdio, `node client.mjs URL TOKEN` over HTTP.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [first, ...rest] = process.argv.slice(2);
const transport = first.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(first), { requestInit: { headers: { Authorization: `Bearer ${rest[0]}` } } })
  : new StdioClientTransport({ command: first, args: rest, env: process.env });
const client = new Client({ name: "typescript", version: "1.0" });
await client.connect(transport);
const { tools } = await client.listTools();
const added = await client.callTool({ name: "add_numbers", arguments: { a: 2, b: 3 } });
const failed = await client.callTool({ name: "always_fails", arguments: { why: "on purpose" } });
const chart = await client.callTool({ name: "draw_chart", arguments: {} });
const link = chart.content.find((one) => one.type === "resource_link" && one.name === "table.csv");
const read = await client.readResource({ uri: link.uri });
console.log(JSON.stringify({
  server: client.getServerVersion().name, tools: tools.length, sum: added.structuredContent.sum,
  failed: failed.isError === true, picture: chart.content.some((one) => one.type === "image"),
  table: read.contents[0].text,
}));
await client.close();
