import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { quorumKeyEncrypt } from "@turnkey/crypto";
import { Keeper } from "../../src/capabilities/deployments/index.ts";
import { unsealPullSecret } from "../../src/capabilities/deployments/pull-secrets.ts";
import { createOutboundClient } from "../../src/delivery/outbound.ts";
import { MAX_PULL_SECRET_BYTES } from "../../src/kernel/limits.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { createImages } from "../../src/providers/oci/registry.ts";
import type { Json } from "../support/client.ts";
import { appParams, approvalParams, deploymentParams, newOperator, someProgram } from "../support/deployments.ts";
import { pushImage, type RegistryOfTests, registryOfTests } from "../support/registry.ts";
import { apiClientOf } from "../support/sdk.ts";
import { onEachEngine } from "../support/server.ts";
import { until } from "../support/until.ts";
import { createWorld } from "../support/world.ts";

const [USER, PASSWORD, TOKEN] = ["puller", "a password: with ~ everything", "a-token"];
const BASIC = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString("base64")}`;

onEachEngine("pull secrets", (server) => {
  let registry: RegistryOfTests;
  const images: Record<"basic" | "bearer" | "token", string> = { basic: "", bearer: "", token: "" };

  before(async () => {
    registry = await registryOfTests();
    const push = async (repository: string) =>
      (await pushImage([[{ name: "usr/local/bin/app", content: someProgram }]], { repository })).byDigest;
    images.basic = await push("basic/app");
    images.bearer = await push("bearer/app");
    images.token = await push("token/app");
    await push("open/app");
    // Each is let in as its registry would have it, and sent on to where the image is.
    const guard = (repository: string, wanted: string, challenge: string) =>
      registry.answer(`/v2/${repository}/`, ({ headers, url = "" }: IncomingMessage, response: ServerResponse) => {
        if (headers.authorization !== wanted) return response.writeHead(401, { "www-authenticate": challenge }).end();
        return response.writeHead(307, { location: url.replace(repository, "open/app") }).end();
      });
    guard("basic/app", BASIC, 'Basic realm="registry"');
    guard("bearer/app", "Bearer given", `Bearer realm="http://${registry.host}/tokens",service="registry"`);
    guard("token/app", `Bearer ${TOKEN}`, `Bearer realm="http://${registry.host}/tokens",service="registry"`);
    registry.answer("/tokens", ({ headers }, response) =>
      headers.authorization === BASIC
        ? response.end(JSON.stringify({ token: "given" }))
        : response.writeHead(401).end(),
    );
  });
  after(() => {
    for (const part of ["/v2/basic/app/", "/v2/bearer/app/", "/v2/token/app/", "/tokens"]) {
      registry.answer(part, undefined);
    }
  });

  const publishedKey = async (): Promise<string> => {
    const { serviceKeys } = (await (await fetch(`${server().baseUrl}/.well-known/keystead.json`)).json()) as Json;
    return serviceKeys.tvcPullSecret[0].publicKey;
  };
  /** With the published client's encryption, to our published key. */
  const encrypted = async (secret: unknown, publicKey?: string): Promise<string> => {
    const bytes = Buffer.from(typeof secret === "string" ? secret : JSON.stringify(secret));
    const target = Buffer.from(publicKey ?? (await publishedKey()), "hex");
    return Buffer.from(await quorumKeyEncrypt(target, bytes)).toString("hex");
  };
  const forRegistry = (entry: object) => ({ auths: { "other.example.com": { auth: "eDp5" }, [registry.host]: entry } });
  const withAuth = { auth: Buffer.from(`${USER}:${PASSWORD}`).toString("base64") };

  it("let images be looked up that are not for everybody, by password and by token", async () => {
    const client = (await createWorld(server())).root.client;
    const sdk = apiClientOf({ baseUrl: server().baseUrl, organizationId: client.organizationId, key: client.key });
    const pair = { username: USER, password: PASSWORD };
    const cases: [string, object][] = [
      [images.basic, withAuth],
      [images.basic, pair],
      [images.bearer, withAuth],
      [images.token, { registrytoken: TOKEN }],
    ];
    for (const [pivotContainerImageUrl, entry] of cases) {
      const pivotContainerEncryptedPullSecret = await encrypted(forRegistry(entry));
      const request = { pivotContainerImageUrl, pivotContainerEncryptedPullSecret };
      // The SDK types the answer of this query as one without members.
      const { resolvedImageDigest }: Json = await sdk.validateTvcImage(request);
      assert.ok(resolvedImageDigest && pivotContainerImageUrl.endsWith(resolvedImageDigest));
    }
    const wrong = await encrypted(forRegistry({ ...pair, password: "another" }));
    for (const [secret, pattern] of [
      ["", /does not let everybody read it; encrypt a pull secret/],
      [wrong, /does not let the owner of the pull secret read it/],
    ] as const) {
      const request = { pivotContainerImageUrl: images.basic, pivotContainerEncryptedPullSecret: secret };
      const { status, body } = await client.query("validate_tvc_image", request);
      assert.equal(status, 400);
      assert.match(body.message, pattern);
    }
  });

  it("are refused where they do not open, or say nothing of the image's registry", async () => {
    const client = (await createWorld(server())).root.client;
    const { appId } = await client.result("create_tvc_app", appParams([newOperator()]));
    const params = { ...(await deploymentParams(appId, someProgram)), pivotContainerImageUrl: images.basic };
    const refused: [string, RegExp][] = [
      ["zz", /must be an even number of hex digits/],
      ["abc", /must be an even number of hex digits/],
      ["00".repeat(200), /was not encrypted to a key of this server/],
      [await encrypted(forRegistry(withAuth), newOperator().publicKey.slice(0, 130)), /was not encrypted to a key/],
      [await encrypted("x".repeat(MAX_PULL_SECRET_BYTES + 1)), /pivotContainerEncryptedPullSecret/],
      [await encrypted("not JSON"), /must contain a Docker configuration/],
      [await encrypted({ auths: [] }), /must contain a Docker configuration/],
      [await encrypted(forRegistry({ auth: "nocolon" })), /must contain a Docker configuration/],
      [
        await encrypted(forRegistry({ username: USER, password: "line\r\nend" })),
        /must contain a Docker configuration/,
      ],
      [await encrypted(forRegistry({})), /must contain a Docker configuration/],
      [await encrypted({ auths: { "other.example.com": withAuth } }), /no entry in `auths` for the registry/],
    ];
    for (const [pivotContainerEncryptedPullSecret, pattern] of refused) {
      const answer = await client.submit("create_tvc_deployment", { ...params, pivotContainerEncryptedPullSecret });
      assert.equal(answer.status, 400, JSON.stringify(answer.body));
      assert.match(answer.body.message, /pivotContainerEncryptedPullSecret/);
      assert.match(answer.body.message, pattern);
    }
    assert.deepEqual((await client.read("list_tvc_app_deployments", { appId })).tvcDeployments, []);
  });

  it("are kept sealed with the deployment, and its program is fetched with them", async () => {
    const client = (await createWorld(server())).root.client;
    const alice = newOperator();
    const app = await client.result("create_tvc_app", appParams([alice]));
    const sdk = apiClientOf({ baseUrl: server().baseUrl, organizationId: client.organizationId, key: client.key });
    const params: Json = {
      ...(await deploymentParams(app.appId, someProgram)),
      pivotContainerImageUrl: images.bearer,
      pivotContainerEncryptedPullSecret: await encrypted(forRegistry(withAuth)),
    };
    const made = {
      ...app,
      ...(await sdk.createTvcDeployment(params as Parameters<typeof sdk.createTvcDeployment>[0])),
    };
    const { tvcDeployment } = await client.read("get_tvc_deployment", { deploymentId: made.deploymentId });
    assert.equal(tvcDeployment.pivotContainer.hasPullSecret, true);
    const { database, signer } = server().opened;
    const { sealed_pull_secret: sealed } = await database.read
      .selectFrom("tvc_deployments")
      .select("sealed_pull_secret")
      .where("organization_id", "=", client.organizationId)
      .where("id", "=", made.deploymentId)
      .executeTakeFirstOrThrow();
    assert.ok(sealed !== null && !Buffer.from(JSON.parse(sealed).sealed, "base64").includes(PASSWORD));
    const opened = (image: string) => unsealPullSecret({ read: database.read, signer }, image, sealed);
    assert.deepEqual(await opened(images.bearer), { username: USER, password: PASSWORD });
    // Whoever can write to the database cannot have it shown to a registry of their own.
    await assert.rejects(
      opened(images.bearer.replace(registry.host, "other.example.com")),
      /not sealed for its registry/,
    );
    await client.result("create_tvc_manifest_approvals", await approvalParams(client, made, [alice]));

    const directory = mkdtempSync(join(tmpdir(), "keystead-pull-"));
    const told: string[] = [];
    const outbound = createOutboundClient({ allowPrivateNetworks: true });
    const keeper = new Keeper({
      database,
      signer,
      runner: {
        run: (programs) => void told.push(...programs.map(({ deploymentId }) => deploymentId)),
        replicasOf: () => undefined,
        provisioningOf: () => undefined,
        logsOf: async () => [],
        close: async () => {},
      },
      images: createImages({ outbound, plainLoopback: true, directory }),
      directory,
      clock: Date.now,
      log: createLogger("fatal"),
    });
    keeper.start();
    try {
      await until(() => told.includes(made.deploymentId), "the program to be fetched");
    } finally {
      await keeper.close();
      await outbound.close();
      rmSync(directory, { recursive: true, force: true });
    }
    assert.ok(!server().log().includes(PASSWORD));
  });
});
