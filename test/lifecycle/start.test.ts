import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Client } from "../support/client.ts";
import { reservePort } from "../support/ports.ts";
import {
  readJson,
  refusalOf,
  runKeystead,
  type ServerProcess,
  settingsOf,
  spawnServer,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** The start as an operator meets it: settings, ports, files, and what a refusal says. */

describe("settings that are wrong stop the start", { concurrency: 2 }, () => {
  const configFile = (content: string) => {
    const file = `${temporaryFolder()}/config.json`;
    writeFileSync(file, content);
    return file;
  };
  const cases: Record<string, { settings: Record<string, string>; expected: RegExp }> = {
    "an unknown variable": {
      settings: { KEYSTEAD_PROT: "8080" },
      expected: /unknown setting KEYSTEAD_PROT; the known ones are .*KEYSTEAD_PORT/,
    },
    "a port beyond the last": { settings: { KEYSTEAD_PORT: "65536" }, expected: /bad value for KEYSTEAD_PORT/ },
    "an unknown key in the file": {
      settings: { KEYSTEAD_CONFIG: configFile('{"prot":8080}') },
      expected: /unknown setting `prot`; the known ones are .*port/,
    },
    "a database of another kind": {
      settings: { DATABASE_URL: "mysql://user:secret-password@localhost/keys" },
      expected: /bad value for DATABASE_URL/,
    },
    "a database that does not answer": {
      settings: { DATABASE_URL: "postgres://user:secret-password@127.0.0.1:1/keys" },
      expected: /the database cannot be opened: .*ECONNREFUSED.*Check DATABASE_URL/,
    },
    "a database file that cannot be": {
      settings: { DATABASE_URL: `sqlite:${configFile("{}")}/keystead.db` },
      expected: /the database cannot be opened: /,
    },
    "a directory of programs that cannot be made": {
      settings: {
        KEYSTEAD_CONFIG: configFile(
          JSON.stringify({ tvc: { runner: "local", directory: `${configFile("{}")}/programs` } }),
        ),
      },
      expected: /the directory for the programs of deployments cannot be created: ENOTDIR.*Check `tvc\.directory`/,
    },
  };
  for (const [name, { settings, expected }] of Object.entries(cases)) {
    it(name, async () => {
      const line = await refusalOf({ dataDir: temporaryFolder(), settings });
      assert.match(line, expected);
      assert.ok(!line.includes("secret-password"));
    });
  }

  it("but the environment stands over the file", async () => {
    const dataDir = temporaryFolder();
    const file = configFile(JSON.stringify({ port: 1, adminPort: 0, logLevel: "silent", dataDir }));
    const server = await startServerProcess({ dataDir, settings: { KEYSTEAD_CONFIG: file } });
    assert.notEqual(new URL(server.baseUrl).port, "1");
    assert.equal(server.stdout(), "", "nothing is logged, as the file says");
    await server.end("SIGTERM");
  });
});

describe("ports", { concurrency: 2 }, () => {
  it("0 takes a free one and writes it down, at every start", async () => {
    const dataDir = temporaryFolder();
    for (let start = 0; start < 2; start++) {
      const server = await startServerProcess({ dataDir });
      assert.deepEqual(readJson(`${dataDir}/address.json`), { baseUrl: server.baseUrl, pid: server.pid });
      assert.equal((await fetch(`${server.baseUrl}/healthz`)).status, 200);
      const document = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as { servers: { url: string }[] };
      assert.equal(document.servers[0]?.url, server.baseUrl);
      await server.end("SIGTERM");
    }
  });

  it("that cannot be written down: a warning, and the server serves", async () => {
    const dataDir = temporaryFolder();
    mkdirSync(`${dataDir}/address.json`);
    const server = spawnServer({ dataDir });
    const baseUrl = () => /"baseUrl":"([^"]+)".*"msg":"serving"/.exec(server.stdout())?.[1];
    await until(() => baseUrl() !== undefined, "the server to serve");
    assert.equal((await fetch(`${baseUrl()}/healthz`)).status, 200);
    assert.match(
      server.stdout(),
      /"level":"warn".+address\.json.+the address of this server cannot be written to a file/,
    );
    await server.end("SIGTERM");
  });

  it("with fewer open files than connections are allowed: a warning that says how many it takes", {
    skip: !existsSync("/proc/self/limits") && "this system does not tell its limits",
  }, async () => {
    const server = spawnServer({
      dataDir: temporaryFolder(),
      settings: { KEYSTEAD_MAX_CONNECTIONS: "100" },
      shellPrefix: "ulimit -n 200",
    });
    const warning = /"level":"warn".+"openFiles":200,"maxConnections":100,.+ raise the limit to 612 /;
    await until(() => warning.test(server.stdout()), "the warning");
    await server.end("SIGTERM");
  });

  it("taken already: a plain message", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => holder.once("listening", resolve));
    const { port } = holder.address() as { port: number };
    for (const setting of ["KEYSTEAD_PORT", "KEYSTEAD_ADMIN_PORT"]) {
      const settings = { KEYSTEAD_LOG_LEVEL: "silent", [setting]: String(port) };
      const line = await refusalOf({ dataDir: temporaryFolder(), settings });
      assert.equal(
        line,
        `keystead: cannot listen on 127.0.0.1:${port}: another process listens there; choose another with ${setting}\n`,
      );
    }
    holder.close();
  });

  it("of two servers with two data directories: side by side, and strangers to each other", async () => {
    const servers = await Promise.all([1, 2].map(() => startServerProcess({ dataDir: temporaryFolder() })));
    const [one, two] = servers as [ServerProcess, ServerProcess];
    for (const [server, stranger] of [
      [one, two],
      [two, one],
    ] as const) {
      const { organizationId } = await server.root.read("whoami");
      assert.equal(organizationId, server.credentials.organizationId);
      const { publicKey, privateKey } = stranger.credentials.apiKey;
      const client = server.root.with({ key: { publicKey, privateKey: privateKey as string } });
      assert.equal((await client.query("whoami")).status, 401);
    }
    await Promise.all(servers.map((server) => server.end("SIGTERM")));
  });
});

describe("files", () => {
  it("with secrets are for their owner alone, whatever the umask", async () => {
    const dataDir = `${temporaryFolder()}/made-here`;
    const server = await startServerProcess({ dataDir, shellPrefix: "umask 000" });
    const modeOf = (name: string) => (statSync(`${dataDir}/${name}`).mode & 0o777).toString(8);
    assert.equal(modeOf("."), "700");
    assert.equal(modeOf("credentials.json"), "600");
    assert.equal(modeOf("root.key"), "600");
    for (const name of ["keystead.db", "keystead.db-wal", "keystead.db-shm"]) assert.equal(modeOf(name), "600");
    await server.end("SIGTERM");
  });

  it("are told by the first start and left alone by the next", async () => {
    const dataDir = temporaryFolder();
    const first = await startServerProcess({ dataDir, onTerminal: true });
    await until(() => first.stdout().includes("API docs:"), "the banner");
    assert.match(first.stdout(), /^Keystead \S+ is serving http:/m);
    assert.match(first.stdout(), /This first start created an organization, a root user and an API key\./);
    assert.match(
      first.stdout(),
      /^To sign in with a passkey, open this link within 15 minutes: http:\/\/localhost:\d+\/#\/welcome\/[\w-]{43}$/m,
    );
    assert.ok(first.stdout().includes(`${dataDir}/credentials.json`));
    assert.match(first.stdout(), /keystead call whoami/);
    assert.ok(first.stdout().includes(`${first.baseUrl}/docs`));
    assert.ok(!existsSync(`${dataDir}/first-visit.link`));
    assert.equal(first.credentials.baseUrl, first.baseUrl);
    await first.end("SIGTERM");
    const second = await startServerProcess({ dataDir, onTerminal: true });
    await until(() => second.stdout().includes("API docs:"), "the banner");
    assert.doesNotMatch(second.stdout(), /first start|first organization/);
    assert.deepEqual(second.credentials, first.credentials);
    await second.end("SIGTERM");
  });

  it("tell without a terminal what a log must not hold, and the log is lines of JSON that tell the rest", async () => {
    const dataDir = temporaryFolder();
    const file = `${dataDir}/first-visit.link`;
    const server = await startServerProcess({ dataDir, settings: { KEYSTEAD_LOG_LEVEL: "trace" } });
    const { baseUrl } = server;
    await until(() => server.stdout().includes('"msg":"serving"'), "the log to say so");
    const lines = server.stdout().trimEnd().split("\n");
    const entries = lines.map((line) => JSON.parse(line));
    const the = (message: string) => entries.find(({ msg }) => msg === message);
    const consoleUrl = baseUrl.replace("127.0.0.1", "localhost");
    const { consoleUrl: shown, docsUrl, ...serving } = the("serving");
    assert.deepEqual([serving.baseUrl, shown, docsUrl], [baseUrl, consoleUrl, `${baseUrl}/docs`]);
    const made = the("the first organization was created, with a root user and an API key");
    assert.deepEqual([made.credentials, made.linkFile], [`${dataDir}/credentials.json`, file]);
    const [, token = ""] = /^http:\/\/localhost:\d+\/#\/welcome\/([\w-]{43})\n$/.exec(readFileSync(file, "utf8")) ?? [];
    assert.notEqual(token, "");
    assert.equal((statSync(file).mode & 0o777).toString(8), "600");
    const post = (given: string) =>
      fetch(`${baseUrl}/console/first-visit`, {
        method: "POST",
        body: JSON.stringify({ token: given, authenticator: {} }),
      });
    assert.match(await (await post("x".repeat(43))).text(), /not the link/);
    assert.doesNotMatch(await (await post(token)).text(), /not the link/);
    await server.end("SIGTERM");
    assert.ok(!(server.stdout() + server.stderr()).includes(token));
    assert.ok(!existsSync(file));

    writeFileSync(file, "of a server that was killed\n");
    const second = await startServerProcess({ dataDir });
    assert.ok(!existsSync(file));
    await second.end("SIGTERM");
  });
});

describe("/healthz and /metrics", () => {
  let server: ServerProcess;
  let adminPort: number;
  before(async () => {
    adminPort = await reservePort();
    const settings = { KEYSTEAD_HOST: "0.0.0.0", KEYSTEAD_ADMIN_PORT: String(adminPort) };
    server = await startServerProcess({ dataDir: temporaryFolder(), settings });
  });
  after(() => server.end("SIGKILL"));

  it("says that the process lives", async () => {
    const response = await fetch(`${server.baseUrl}/healthz`);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { status: "ok" });
  });

  it("counts requests, on the admin port alone", async () => {
    await server.root.read("whoami");
    const response = await fetch(`http://127.0.0.1:${adminPort}/metrics`);
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", /^text\/plain/);
    const text = await response.text();
    assert.match(text, /^keystead_requests_total\{operation="whoami",status="200"\} 1$/m);
    assert.match(text, /^keystead_request_duration_seconds_count\{operation="whoami"\} 1$/m);
    assert.match(text, /^keystead_signer_ready 1$/m);
    assert.match(text, /^keystead_signer_queue_length 0$/m);
    assert.match(text, /^keystead_signer_busy_seconds_total 0\.\d*[1-9]/m, "it made the first organization's key");
    for (const name of ["restarts", "shed"]) assert.match(text, new RegExp(`^keystead_signer_${name}_total 0$`, "m"));
    assert.equal((await fetch(`${server.baseUrl}/metrics`)).status, 404);
    assert.equal((await fetch(`http://127.0.0.1:${adminPort}/healthz`)).status, 404);
  });

  it("is for this machine alone, even where the API is for all", async (test) => {
    const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const outside = addresses.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
    if (!outside) return test.skip("this machine has only the loopback address");
    const { port } = new URL(server.baseUrl);
    assert.equal((await fetch(`http://${outside}:${port}/healthz`)).status, 200);
    await assert.rejects(fetch(`http://${outside}:${adminPort}/metrics`));
  });
});

describe("the command line beside a running server", () => {
  const dataDir = temporaryFolder();
  let server: ServerProcess;
  before(async () => {
    server = await startServerProcess({ dataDir });
  });
  after(() => server.end("SIGKILL"));
  const keystead = (...args: string[]) => runKeystead(args, settingsOf({ dataDir }));

  it("init makes a further organization with a key of its own", async () => {
    const { code, stdout } = await keystead("init", "--organization-name", "Second", "--user-name", "Ann");
    assert.equal(code, 0);
    const { organizationId, organizationName, userName, baseUrl, apiKey } = JSON.parse(stdout);
    assert.deepEqual([organizationName, userName, baseUrl], ["Second", "Ann", server.baseUrl]);
    const client = new Client(baseUrl, organizationId, apiKey);
    assert.equal((await client.read("whoami")).organizationName, "Second");
    const key = { privateKeyName: "key", curve: "CURVE_ED25519", privateKeyTags: [], addressFormats: [] };
    await client.result("create_private_keys", { privateKeys: [key] });
    assert.notEqual(organizationId, server.credentials.organizationId);
    assert.deepEqual(readJson(`${dataDir}/credentials.json`), server.credentials, "the first ones stay");
  });

  it("init with a public key never knows the private one", async () => {
    const { publicKey, privateKey } = JSON.parse((await keystead("init")).stdout).apiKey;
    const { code, stdout } = await keystead("init", "--api-public-key", publicKey, "--user-email", "ann@example.com");
    assert.equal(code, 0);
    const { organizationId, apiKey, baseUrl } = JSON.parse(stdout);
    assert.deepEqual(apiKey, { publicKey });
    const client = new Client(baseUrl, organizationId, { publicKey, privateKey });
    assert.equal((await client.read("whoami")).organizationId, organizationId);
  });

  it("init refuses a public key that is none", async () => {
    const { code, stdout, stderr } = await keystead("init", "--api-public-key", `02${"ff".repeat(32)}`);
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(stderr, /^keystead: --api-public-key must be a compressed P-256 public key[^\n]+\n$/);
  });

  it("rotate names the keys that there are where it knows none of the name", async () => {
    const { code, stdout, stderr } = await keystead("rotate", "bogus");
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(
      stderr,
      /^keystead: there is no service key bogus; the known ones are [a-zA-Z]+(, [a-zA-Z]+)+ and [a-zA-Z]+\n$/,
    );
  });

  it("call prints the answer", async () => {
    const { code, stdout, stderr } = await keystead("call", "whoami");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(JSON.parse(stdout).userId, server.credentials.userId);
    const tag = await keystead("call", "create_user_tag", '{"userTagName":"from a shell","userIds":[]}');
    assert.equal(tag.code, 0);
    assert.equal(JSON.parse(tag.stdout).activity.status, "ACTIVITY_STATUS_COMPLETED");
  });

  it("call prints an error on stderr and ends with 1", async () => {
    const { code, stdout, stderr } = await keystead("call", "create_user_tag", "{}");
    assert.deepEqual([code, stdout], [1, ""]);
    assert.equal(JSON.parse(stderr).code, 3);
  });

  it("call says what is wrong with the call itself", async () => {
    const cases: [string[], RegExp][] = [
      [["call", "make_coffee"], /there is no operation make_coffee/],
      [["call", "whoami", "{"], /the parameters must be a JSON object/],
      [["call", "whoami", "[]"], /the parameters must be a JSON object/],
      [["call", "whoami", "--credentials", "/nowhere"], /no credentials with a private key in \/nowhere/],
    ];
    for (const [args, expected] of cases) {
      const { code, stdout, stderr } = await keystead(...args);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, expected);
      assert.match(stderr, /^keystead: [^\n]+\n$/);
    }
  });

  it("call with credentials that are named asks the server that they are of", async () => {
    const port = await reservePort();
    const file = join(temporaryFolder(), "others.json");
    writeFileSync(file, JSON.stringify({ ...server.credentials, baseUrl: `http://127.0.0.1:${port}` }));
    const { code, stdout, stderr } = await keystead("call", "whoami", "--credentials", file);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, new RegExp(`^keystead: http://127\\.0\\.0\\.1:${port}/[^\n]+ does not answer`));
  });

  it("call says which server it asks where files of another machine name that", async () => {
    const dataDir = temporaryFolder();
    writeFileSync(`${dataDir}/credentials.json`, JSON.stringify(server.credentials));
    const call = (more = {}) => runKeystead(["call", "whoami"], { ...settingsOf({ dataDir }), ...more });
    const restored = await call();
    assert.deepEqual([restored.code, JSON.parse(restored.stdout).userId], [0, server.credentials.userId]);
    assert.equal(
      restored.stderr,
      `keystead: whoami is sent to ${server.baseUrl}, the address in ${dataDir}/credentials.json, because no server in this folder has written the address that it listens on\n`,
    );
    assert.equal((await call({ KEYSTEAD_PUBLIC_URL: server.baseUrl })).stderr, "");
  });

  it("call says that no server runs", async () => {
    await server.end("SIGTERM");
    const { code, stdout, stderr } = await keystead("call", "whoami");
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^keystead: http:[^\n]+ does not answer \([^\n]+\); is the server running\?\n$/);
  });
});
