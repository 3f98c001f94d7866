import assert from "node:assert/strict";
import { it } from "node:test";
import { onEachEngine } from "../support/server.ts";

onEachEngine("the content type", (server) => {
  it("is application/json and no more on every JSON answer", async () => {
    const { root, baseUrl } = server();
    const tag = { userTagName: "any", userIds: [] };
    const answers = [
      ["a query", (await root.query("whoami")).headers],
      ["an activity", (await root.submit("create_user_tag", tag)).headers],
      ["an error", (await root.query("get_user")).headers],
      ["an unknown path", (await root.post("/public/v1/query/nothing", "{}")).headers],
    ] as [string, Headers][];
    for (const path of ["/healthz", "/readyz", "/openapi.json", "/.well-known/keystead.json"]) {
      const response = await fetch(`${baseUrl}${path}`);
      await response.arrayBuffer();
      answers.push([path, response.headers]);
    }
    const types = answers.map(([name, headers]) => [name, headers.get("content-type")]);
    assert.deepEqual(
      types,
      answers.map(([name]) => [name, "application/json"]),
    );
  });
});
