import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { toHex } from "../../src/kernel/bytes.ts";
import { apiKeyParams, type Client, generateApiKey, type Json } from "../support/client.ts";
import { reservePort } from "../support/ports.ts";
import { type ServerProcess, signerOf, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** Everything is done once, at the most talkative log level; then nothing secret may stand where an operator or a client reads. */

const PASSPHRASE = "correct horse battery staple";
/** Stands in bodies, which nobody logs. */
const MARKER = "marker-of-a-request-body";

interface Answer {
  status: number;
  requestId: string | null;
  text: string;
}

describe("a server that logs all it can", () => {
  const dataDir = temporaryFolder();
  /** What must not show, by what it is. */
  const secrets = new Map<string, string>();
  const errors: Answer[] = [];
  let server: ServerProcess;
  let adminPort: number;

  before(async () => {
    adminPort = await reservePort();
    const settings = {
      KEYSTEAD_LOG_LEVEL: "trace",
      KEYSTEAD_ADMIN_PORT: String(adminPort),
      KEYSTEAD_ROOT_KEY_PASSPHRASE: PASSPHRASE,
    };
    server = await startServerProcess({ dataDir, settings });
    secrets.set("the passphrase", PASSPHRASE);
    secrets.set("the root user's private key", server.credentials.apiKey.privateKey as string);
    secrets.set("the sealed root key", JSON.parse(readFileSync(`${dataDir}/root.key`, "utf8")).sealedRootKey);
    await runEverything();
  });
  after(() => server.end("SIGKILL"));

  async function send(path: string, body: string, headers: Record<string, string>): Promise<Answer> {
    const response = await fetch(`${server.baseUrl}${path}`, { method: "POST", headers, body });
    const answer = {
      status: response.status,
      requestId: response.headers.get("x-request-id"),
      text: await response.text(),
    };
    if (answer.status !== 200) errors.push(answer);
    return answer;
  }

  /** Sends a stamped body and remembers the stamp as a secret. */
  async function stamped(client: Client, path: string, body: string): Promise<Json> {
    const stamp = client.stamp(body);
    remember("a stamp", stamp);
    remember("a signature of a stamp", JSON.parse(Buffer.from(stamp, "base64url").toString()).signature);
    const { text } = await send(path, body, { "x-stamp": stamp });
    return JSON.parse(text);
  }

  const remember = (what: string, secret: string) => void secrets.set(`${what} (${secrets.size})`, secret);

  const submit = (client: Client, path: string, parameters: unknown): Promise<Json> =>
    stamped(client, `/public/v1/submit/${path}`, client.submitBody(path, parameters));

  async function runEverything(): Promise<void> {
    const { root } = server;
    const key = { privateKeyName: MARKER, curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
    const created = await submit(root, "create_private_keys", { privateKeys: [key] });
    const [{ privateKeyId }] = created.activity.result.createPrivateKeysResultV2.privateKeys;
    const signing = {
      signWith: privateKeyId,
      payload: MARKER,
      encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
      hashFunction: "HASH_FUNCTION_KECCAK256",
    };
    const signed = await submit(root, "sign_raw_payload", signing);
    remember("a signature", signed.activity.result.signRawPayloadResult.s);
    const apiKey = generateApiKey();
    remember("a private key", apiKey.privateKey);
    const user = {
      userName: MARKER,
      apiKeys: [apiKeyParams(apiKey)],
      authenticators: [],
      oauthProviders: [],
      userTags: [],
    };
    await submit(root, "create_users", { users: [user] });

    const plain = root.with({ key: apiKey });
    await submit(plain, "update_organization_name", { organizationName: MARKER });
    await submit(root, "create_user_tag", { userTagName: 7, marker: MARKER });
    await submit(root, "delete_private_keys", { privateKeyIds: [privateKeyId] });
    await stamped(
      root,
      "/public/v1/query/get_user",
      JSON.stringify({ organizationId: root.organizationId, userId: MARKER }),
    );
    await stamped(root, "/public/v1/submit/no_such_operation", MARKER);
    await stamped(root, "/public/v1/query/whoami", `{"organizationId": "${MARKER}`);
    await stamped(root.with({ key: generateApiKey() }), "/public/v1/query/whoami", whoami());
    await sendBadStamps();

    const signer = await signerOf(server);
    process.kill(signer, "SIGSTOP");
    const hanging = submit(root, "sign_raw_payload", signing);
    process.kill(signer, "SIGKILL");
    await hanging;
    await until(async () => (await fetch(`${server.baseUrl}/readyz`)).status === 200, "the signer to be back");
  }

  const whoami = () => JSON.stringify({ organizationId: server.root.organizationId });

  async function sendBadStamps(): Promise<void> {
    const good = server.root.stamp(whoami());
    const parts = JSON.parse(Buffer.from(good, "base64url").toString());
    const encode = (stamp: object) => Buffer.from(JSON.stringify(stamp)).toString("base64url");
    const bad = [
      server.root.stamp(`${whoami()} `),
      good.slice(0, -20),
      encode({ ...parts, signature: `${parts.signature}00` }),
      encode({ ...parts, scheme: "SIGNATURE_SCHEME_TK_API_ED25519" }),
      encode({ ...parts, publicKey: toHex(Buffer.alloc(33, 2)) }),
      `${good}${good}`,
    ];
    for (const stamp of bad) {
      remember("a bad stamp", stamp);
      await send("/public/v1/query/whoami", whoami(), { "x-stamp": stamp });
      await send("/public/v1/query/whoami", whoami(), { "x-stamp-webauthn": stamp });
    }
    remember("a stamp of two", good);
    await send("/public/v1/query/whoami", whoami(), { "x-stamp": good, "x-stamp-webauthn": good });
  }

  function assertNoSecret(text: string, where: string): void {
    for (const [what, secret] of secrets) {
      // A part of it would be too much already.
      const middle = secret.slice(Math.floor(secret.length / 4), Math.floor(secret.length / 4) + 24);
      assert.ok(!text.includes(middle), `${what} stands in ${where}`);
    }
  }

  it("logs no secret and no body", () => {
    const log = server.stdout() + server.stderr();
    assert.ok(log.split("\n").length > 30, "there is a log to look at");
    assertNoSecret(log, "the log");
    assert.ok(!log.includes(MARKER));
  });

  it("tells no secret in its errors", () => {
    assert.ok(errors.length > 20);
    assertNoSecret(errors.map(({ text }) => text).join("\n"), "an error");
  });

  it("shows no secret and nobody's identifiers in its metrics", async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
    assert.match(metrics, /keystead_requests_total/);
    assertNoSecret(metrics, "the metrics");
    assert.doesNotMatch(metrics, /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-/);
  });

  it("keeps no secret in its files but those made for it", () => {
    const database = ["keystead.db", "keystead.db-wal"].map((name) => readFileSync(`${dataDir}/${name}`, "latin1"));
    for (const secret of [PASSPHRASE, server.credentials.apiKey.privateKey as string]) {
      assert.ok(!database.join("").includes(secret));
      assert.ok(!readFileSync(`${dataDir}/root.key`, "latin1").includes(secret));
    }
  });

  it("gives each error a request id, and logs what became of the request under it", () => {
    const logged = new Map<string, Json>();
    for (const line of server.stdout().split("\n")) {
      if (!line.startsWith("{")) continue;
      const entry = JSON.parse(line);
      if (entry.msg === "request") logged.set(entry.requestId, entry);
    }
    for (const { status, requestId, text } of errors) {
      assert.match(requestId ?? "", /^[0-9a-f-]{36}$/);
      // Requests for no operation are answered, not logged.
      if (text.includes("no such operation")) continue;
      assert.equal(logged.get(requestId as string)?.status, status, text);
    }
    assert.equal(new Set(errors.map(({ requestId }) => requestId)).size, errors.length);
  });
});
