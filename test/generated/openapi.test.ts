import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { Compile } from "typebox/schema";
import { capabilities, operations } from "../../src/capabilities/index.ts";
import { operatorActivityTypes } from "../../src/engine/activities/operator-activities.ts";
import { type ProxyCall, proxyPathOf } from "../../src/engine/proxy-call.ts";
import { pathOf } from "../../src/engine/registry.ts";
import type { Json } from "../support/client.ts";
import { bodyOf, exampleRequests, kindFor } from "../support/examples.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { createWorld } from "../support/world.ts";

/** Each member of their answers may be absent. */
const mayBeEmpty = ["get_tvc_deployment_provisioning_details", "validate_tvc_image"];

describe("the OpenAPI document", () => {
  let server: TestServer;
  let document: Json;
  before(async () => {
    server = await startTestServer("sqlite");
    const response = await fetch(`${server.baseUrl}/openapi.json`);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    document = await response.json();
  });
  after(() => server.close());

  it("is OpenAPI 3.1 and names this server", () => {
    assert.match(document.openapi, /^3\.1\.\d+$/);
    assert.equal(document.info.title, "Keystead");
    assert.match(document.info.version, /^\d+\.\d+\.\d+/);
    assert.deepEqual(document.servers, [{ url: server.baseUrl }]);
    for (const requirement of document.security) {
      for (const scheme of Object.keys(requirement)) assert.ok(document.components.securitySchemes[scheme], scheme);
    }
  });

  it("documents every operation and nothing else", () => {
    const calls = capabilities.flatMap((each): readonly ProxyCall[] => ("proxyCalls" in each ? each.proxyCalls : []));
    assert.deepEqual(Object.keys(document.paths).sort(), [...operations.map(pathOf), ...calls.map(proxyPathOf)].sort());
    for (const call of calls) {
      const { post } = document.paths[proxyPathOf(call)];
      assert.deepEqual(post.security, [], "nobody stamps it");
      assert.match(post.description, /^[A-Z].*\.$/, call.path);
    }
    for (const operation of operations) {
      const item = document.paths[pathOf(operation)];
      assert.deepEqual(Object.keys(item), ["post"]);
      assert.equal(item.post.operationId, operation.path);
      assert.match(item.post.description, /^[A-Z].*\.$/, operation.path);
      assert.equal(item.post.requestBody.required, true);
      assert.deepEqual(Object.keys(item.post.responses), ["200", "default"]);
      for (const content of [item.post.requestBody, ...Object.values<Json>(item.post.responses)]) {
        assert.deepEqual(Object.keys(content.content), ["application/json"], operation.path);
      }
    }
  });

  it("groups them by capability, each under a short name of its own", () => {
    const groups = capabilities.filter(({ operations }) => operations.length > 0);
    assert.deepEqual(
      document.tags,
      [...groups.map(({ title }) => title), "Calls of the auth proxy"].map((name) => ({ name })),
    );
    for (const { title, operations } of groups) {
      for (const operation of operations) assert.deepEqual(document.paths[pathOf(operation)].post.tags, [title]);
    }
    const names = Object.values<Json>(document.paths).map(({ post }) => post.summary);
    assert.equal(new Set(names).size, names.length);
    for (const name of names) assert.match(name, /^[A-Z][A-Za-z0-9. -]{1,39}$/);
    const namedAs = (path: string) => document.paths[path].post.summary;
    assert.equal(namedAs("/public/v1/submit/create_wallet"), "Create wallet");
    assert.equal(namedAs("/public/v1/submit/create_api_keys"), "Create API keys");
    assert.equal(namedAs("/public/v1/submit/delete_sub_organization"), "Delete sub-organization");
    assert.equal(namedAs("/public/v1/query/whoami"), "Who am I");
  });

  it("shows a request and an answer of each, which fit their schemas", () => {
    for (const path of Object.keys(document.paths)) {
      const { post } = document.paths[path];
      for (const body of [post.requestBody, post.responses["200"]]) {
        const { example } = body.content["application/json"];
        const schema = validatorOf(document, body);
        assert.ok(schema.Check(example), `${path}: ${JSON.stringify(schema.Errors(example)[1])}`);
      }
    }
  });

  it("is small enough to be loaded by a page", () => {
    assert.ok(JSON.stringify(document).length < 1.5 * 1024 * 1024, `${JSON.stringify(document).length} characters`);
  });

  it("names every activity type once", () => {
    const { enum: known, description } = document.components.schemas.ActivityType;
    // Those of our own are named in words, because the published clients know only the others.
    const types = [...known, ...description.match(/ACTIVITY_TYPE_\w+/g)];
    assert.deepEqual([...new Set(types)], types);
    const documented = exampleRequests.flatMap(({ type }) => (type === undefined ? [] : [type]));
    // The one that no request makes.
    assert.deepEqual([...types].sort(), [...documented, ...operatorActivityTypes].sort());
  });

  it("has references that resolve, and components that are used", () => {
    const references = referencesIn(document);
    assert.ok(references.length > 50, `only ${references.length} references`);
    for (const reference of references) assert.ok(resolve(document, reference), `${reference} leads nowhere`);
    for (const name of Object.keys(document.components.schemas)) {
      assert.ok(references.includes(`#/components/schemas/${name}`), `${name} is not used`);
    }
  });

  it("is plain JSON Schema: no keyword that is unknown to it", () => {
    const known = new Set(
      "$ref type properties required additionalProperties items enum pattern minLength maxLength minItems maxItems minProperties maxProperties format description anyOf const minimum maximum".split(
        " ",
      ),
    );
    for (const [where, schema] of schemasIn(document)) {
      for (const keyword of keywordsIn(schema)) assert.ok(known.has(keyword), `${keyword} in ${where}`);
    }
  });

  for (const request of exampleRequests) {
    it(`describes the example of ${request.name} and its answer, and refuses others`, async () => {
      const world = await createWorld(server, kindFor(request.operation));
      const fields = await request.example(world);
      const { client } = world.root;
      const body = bodyOf(request, client, fields);
      const { requestBody, responses } = document.paths[request.url].post;
      const requestSchema = validatorOf(document, requestBody);
      assert.ok(requestSchema.Check(body), JSON.stringify(requestSchema.Errors(body)[1]));
      const { organizationId: _, ...incomplete } = body;
      assert.ok(!requestSchema.Check(incomplete), "a body without its organization fits");

      const answer = await client.post(request.url, JSON.stringify(body));
      const answerSchema = validatorOf(document, responses["200"]);
      assert.ok(answerSchema.Check(answer.body), JSON.stringify(answerSchema.Errors(answer.body)[1]));
      assert.equal(answerSchema.Check({}), mayBeEmpty.includes(request.name), "an empty answer");

      const refusal = await client.post(request.url, JSON.stringify(incomplete));
      assert.equal(refusal.status, 400);
      assert.ok(validatorOf(document, responses.default).Check(refusal.body), JSON.stringify(refusal.body));
      if (!mayBeEmpty.includes(request.name)) assert.ok(!answerSchema.Check(refusal.body));
    });
  }

  it("describes what references lead to", () => {
    const { requestBody } = document.paths["/public/v1/query/list_activities"].post;
    const schema = validatorOf(document, requestBody);
    const body = { organizationId: server.root.organizationId, paginationOptions: { limit: "5" } };
    assert.ok(schema.Check(body));
    assert.ok(!schema.Check({ ...body, paginationOptions: { limit: 5 } }));
  });
});

describe("the documentation page", () => {
  let server: TestServer;
  let page: Response;
  let html: string;
  before(async () => {
    server = await startTestServer("sqlite");
    page = await fetch(`${server.baseUrl}/docs/`);
    html = await page.text();
  });
  after(() => server.close());

  it("is found under /docs too", async () => {
    const answer = await fetch(`${server.baseUrl}/docs`, { redirect: "manual" });
    assert.equal(answer.status, 302);
    assert.equal(answer.headers.get("location"), "/docs/");
  });

  it("refers to this server alone, by relative URLs that lead somewhere", async () => {
    assert.equal(page.status, 200);
    assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
    assert.doesNotMatch(html, /[a-z][a-z0-9+.-]*:\/\/|["'(=]\s*\/\//i);
    const attributes = [...html.matchAll(/\s(?:src|href|action|data|poster|srcset|content)\s*=\s*["']?([^"'\s>]+)/gi)];
    const urls = attributes.map(([, url]) => url as string).filter((url) => /[./]/.test(url));
    const documented = [...html.matchAll(/"url":\s*"([^"]+)"/g)].map(([, url]) => url as string);
    assert.deepEqual(documented, ["/openapi.json"]);
    assert.ok(
      urls.some((url) => url.endsWith(".js")),
      `no script among ${urls}`,
    );
    for (const url of [...urls, ...documented]) {
      const target = new URL(url, `${server.baseUrl}/docs/`);
      assert.equal(target.origin, server.baseUrl, url);
      const answer = await fetch(target);
      assert.equal(answer.status, 200, url);
      await answer.body?.cancel();
    }
  });

  it("is forbidden by its policy to reach other hosts", () => {
    const policy = page.headers.get("content-security-policy") ?? "";
    const directives = policy.split(";").map((directive) => directive.trim().split(/\s+/));
    const sources = new Map(directives.map(([name, ...values]) => [name as string, values]));
    assert.deepEqual(sources.get("default-src"), ["'none'"]);
    assert.deepEqual(sources.get("connect-src"), ["'self'"]);
    assert.deepEqual(sources.get("frame-ancestors"), ["'none'"]);
    assert.equal(page.headers.get("x-content-type-options"), "nosniff");
    const scripts = [...html.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)].map(([, code]) => code as string);
    const hashes = scripts.filter(Boolean).map((code) => createHash("sha256").update(code).digest("base64"));
    assert.deepEqual(sources.get("script-src"), ["'self'", ...hashes.map((hash) => `'sha256-${hash}'`)]);
    const ownSources = ["'none'", "'self'", "data:", "blob:"];
    for (const [directive, allowed] of sources) {
      if (directive === "script-src" || directive === "style-src") continue;
      for (const source of allowed) assert.ok(ownSources.includes(source), `${directive} ${source}`);
    }
  });

  it("is kept by browsers, its script for good", async () => {
    const script = new URL((/<script src="([^"]+)"/.exec(html) ?? [])[1] as string, `${server.baseUrl}/docs/`);
    for (const [url, cacheControl] of [
      [`${server.baseUrl}/docs/`, "no-cache"],
      [`${server.baseUrl}/openapi.json`, "no-cache"],
      [script.href, "public, max-age=31536000, immutable"],
    ] as const) {
      const first = await fetch(url);
      const size = (await first.arrayBuffer()).byteLength;
      assert.ok(size > 0);
      assert.equal(first.headers.get("cache-control"), cacheControl);
      assert.equal(first.headers.get("content-encoding"), "gzip");
      const etag = first.headers.get("etag") as string;
      const again = await fetch(url, { headers: { "if-none-match": `W/${etag}` } });
      assert.deepEqual([again.status, (await again.arrayBuffer()).byteLength], [304, 0]);
      const plain = await fetch(url, { headers: { "accept-encoding": "gzip;q=0" } });
      assert.equal(plain.headers.get("content-encoding"), null);
      assert.equal((await plain.arrayBuffer()).byteLength, size);
    }
    assert.equal((await fetch(`${server.baseUrl}/docs/js/scalar-${"0".repeat(32)}.js`)).status, 404);
  });
});

/** Every `$ref` of the document. */
function referencesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const { $ref } = value as { $ref?: unknown };
  return [...(typeof $ref === "string" ? [$ref] : []), ...Object.values(value).flatMap(referencesIn)];
}

/** What a reference into the document leads to (RFC 6901). */
function resolve(document: Json, reference: string): Json {
  assert.match(reference, /^#\//);
  const steps = reference.slice(2).split("/");
  return steps.reduce((inside, step) => inside?.[step.replaceAll("~1", "/").replaceAll("~0", "~")], document);
}

/** The schemas of all bodies and components, each with its place. */
function schemasIn(document: Json): [string, Json][] {
  const bodies = Object.entries<Json>(document.paths).flatMap(([path, { post }]) =>
    [post.requestBody, ...Object.values<Json>(post.responses)].map(({ content }): [string, Json] => [
      path,
      content["application/json"].schema,
    ]),
  );
  return [...bodies, ...Object.entries<Json>(document.components.schemas)];
}

/** The keywords of a schema and of those inside it; names of properties are no keywords. */
function keywordsIn(schema: Json): string[] {
  const { properties = {}, items, anyOf = [] } = schema;
  const inside = [...Object.values(properties), ...(items ? [items] : []), ...anyOf];
  return [...Object.keys(schema), ...inside.flatMap(keywordsIn)];
}

/** A JSON Schema validator of a documented body; references are into the whole document. */
const validatorOf = (document: Json, { content }: Json) =>
  Compile({ ...content["application/json"].schema, components: document.components });
