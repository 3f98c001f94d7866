import assert from "node:assert/strict";
import { it } from "node:test";
import { onEachEngine } from "../support/server.ts";

const ORIGIN = "https://wallet.example";

onEachEngine("what pages of other origins may do", (server) => {
  it("is to call the public API, with any headers, and to read its errors", async () => {
    const { root, baseUrl } = server();
    for (const path of ["/public/v1/query/whoami", "/public/v1/submit/create_users", "/public/v1/query/nothing"]) {
      const asked = { origin: ORIGIN, "access-control-request-method": "POST" };
      const headers = { ...asked, "access-control-request-headers": "x-stamp,x-client-version,content-type" };
      const preflight = await fetch(`${baseUrl}${path}`, { method: "OPTIONS", headers });
      assert.equal(preflight.status, 204, path);
      assert.equal(preflight.headers.get("access-control-allow-origin"), "*");
      assert.equal(preflight.headers.get("access-control-allow-methods"), "GET, POST");
      assert.equal(preflight.headers.get("access-control-allow-headers"), headers["access-control-request-headers"]);
      for (const body of ["{}", JSON.stringify({ organizationId: root.organizationId })]) {
        const answer = await root.post(path, body, { origin: ORIGIN });
        assert.equal(answer.headers.get("access-control-allow-origin"), "*", `${path} ${answer.status}`);
      }
    }
    const unstamped = await fetch(`${baseUrl}/public/v1/query/whoami`, { method: "POST", body: "{}" });
    assert.equal(unstamped.status, 401);
    assert.equal(unstamped.headers.get("access-control-allow-origin"), "*");
    const keys = await fetch(`${baseUrl}/public/v1/discovery/webhooks/jwks`);
    assert.equal(keys.headers.get("access-control-allow-origin"), "*");
  });

  it("is not to read what operators look at", async () => {
    const { baseUrl } = server();
    for (const path of ["/healthz", "/readyz", "/docs/", "/openapi.json", "/.well-known/keystead.json", "/nothing"]) {
      const headers = { origin: ORIGIN, "access-control-request-method": "GET" };
      for (const method of ["GET", "OPTIONS"]) {
        const answer = await fetch(`${baseUrl}${path}`, { method, headers });
        await answer.arrayBuffer();
        assert.equal(answer.headers.get("access-control-allow-origin"), null, `${method} ${path}`);
        assert.equal(answer.headers.get("x-content-type-options"), "nosniff", path);
        assert.equal(answer.headers.get("x-frame-options"), "DENY", path);
        assert.match(answer.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/, path);
      }
    }
  });
});
