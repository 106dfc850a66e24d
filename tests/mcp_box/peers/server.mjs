// A server of the TypeScript SDK.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "counts", version: "1.0.0" });
server.registerTool(
  "count_letters",
  {
    description: "Counts the letters of a text.",
    inputSchema: { text: z.string() },
    outputSchema: { letters: z.number() },
  },
  async ({ text }) => ({
    content: [{ type: "text", text: String(text.length) }],
    structuredContent: { letters: text.length },
  }),
);
await server.connect(new StdioServerTransport());
