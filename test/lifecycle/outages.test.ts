import assert from "node:assert/strict";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { DatabaseFailure } from "../../src/storage/failure.ts";
import { openInspection } from "../../src/storage/inspection.ts";
import { attestationCertificate } from "../support/attestation-certificate.ts";
import { createTestDatabase, startPostgres, type TestPostgres } from "../support/postgres.ts";
import {
  isRunning,
  refusalOf,
  type ServerProcess,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { checkAnswers, count, createSubjects, readyz, type Subjects, startLoad } from "./load.ts";

/** What operators do to PostgreSQL while a server runs on it: requests wait or are told, and never are they a defect. */

const DATABASE = "keys";
const ROLE = "keystead_server";
const PASSWORD = "first-secret-password";

const WARN = 40;

/** Of the log. */
interface Line {
  level: number;
  msg: string;
  err?: object;
}

interface Certificate {
  key: string;
  certificate: string;
}

function newCertificate(): Certificate {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const der = attestationCertificate(keys, Buffer.alloc(16));
  return {
    key: keys.privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    certificate: `-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`,
  };
}

const TLS = join(import.meta.dirname, "../support/tls");
/** For 127.0.0.1, signed by itself. */
const certificateIn = (name: string): Certificate => ({
  key: readFileSync(join(TLS, "key.pem"), "utf8"),
  certificate: readFileSync(join(TLS, name), "utf8"),
});

describe("PostgreSQL under the hands of an operator", () => {
  const first = certificateIn("valid.pem");
  /** As the server comes, with other words on TLS. */
  let urlWith: (query: string) => string;
  let postgres: TestPostgres;
  let server: ServerProcess;
  let store: Database;
  let subjects: Subjects;

  const withCertificate = ({ key, certificate }: Certificate) => {
    postgres.setFile("server.key", key);
    postgres.setFile("server.crt", certificate);
  };

  before(async () => {
    postgres = await startPostgres();
    withCertificate(first);
    postgres.setFile("postgresql.auto.conf", "ssl = on\n");
    // The server comes by the network and TLS, the tests by the trusted user.
    postgres.setFile("pg_hba.conf", `host all keystead all trust\nhostssl all ${ROLE} all scram-sha-256\n`);
    await postgres.restart();
    const directUrl = await createTestDatabase(postgres.url, DATABASE);
    await operate(`create role ${ROLE} login password '${PASSWORD}'`, `alter database ${DATABASE} owner to ${ROLE}`);
    urlWith = (query) => {
      const url = new URL(directUrl);
      [url.username, url.password, url.search] = [ROLE, PASSWORD, query];
      return url.href;
    };
    const databaseUrl = urlWith(`sslmode=verify-full&sslrootcert=${TLS}/valid.pem`);
    server = await startServerProcess({ dataDir: temporaryFolder(), databaseUrl });
    store = openDatabase({ url: directUrl });
    subjects = await createSubjects(server.root);
  });
  after(async () => {
    await server.end("SIGKILL");
    await store.close();
    await postgres.stop();
  });

  /** Runs statements in the maintenance database as its superuser, one after the other. */
  async function operate(...statements: string[]): Promise<void> {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  }

  const END_CONNECTIONS = `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${ROLE}'`;

  const outages: Record<string, { begin: () => Promise<void>; end: () => Promise<void>; reason: RegExp }> = {
    "a password that was changed": {
      begin: () => operate(`alter role ${ROLE} password 'another-secret'`, END_CONNECTIONS),
      end: () => operate(`alter role ${ROLE} password '${PASSWORD}'`),
      reason: /rejects the user or the password in DATABASE_URL/,
    },
    "a database of another name": {
      begin: async () => {
        await store.close();
        await operate(`alter database ${DATABASE} allow_connections false`, END_CONNECTIONS);
        await until(() =>
          operate(`alter database ${DATABASE} rename to moved`).then(
            () => true,
            () => false,
          ),
        );
      },
      end: async () => {
        await operate(
          `alter database moved rename to ${DATABASE}`,
          `alter database ${DATABASE} allow_connections true`,
        );
        store = openDatabase({ url: postgres.url.replace(/\/postgres$/, `/${DATABASE}`) });
      },
      reason: /that DATABASE_URL names does not exist/,
    },
    "no connection left": {
      begin: () => operate(`alter role ${ROLE} connection limit 0`, END_CONNECTIONS),
      end: () => operate(`alter role ${ROLE} connection limit -1`),
      reason: /has no connection left for this server/,
    },
    "a certificate of somebody else": {
      begin: async () => {
        withCertificate(newCertificate());
        await operate("select pg_reload_conf()", END_CONNECTIONS);
      },
      end: async () => {
        withCertificate(first);
        await operate("select pg_reload_conf()");
      },
      reason: /has a TLS certificate that is not accepted/,
    },
  };

  for (const [name, { begin, end, reason }] of Object.entries(outages)) {
    it(`${name}: requests are told that it is away, /readyz says why, and all is well when it is back`, async () => {
      const load = startLoad(server.root, subjects);
      await until(() => count(load, 200) > 20, "the load");
      const loggedBefore = server.stdout().length;
      const logged = () => server.stdout().slice(loggedBefore);
      await begin();
      await until(() => count(load, 503) > 10, "answers that say so");
      await until(async () => reason.test((await readyz(server)).body.reasons?.database ?? ""), "/readyz to say why");
      const { status, body } = await readyz(server);
      assert.deepEqual([status, body.status, body.database], [503, "not ready", "unavailable"]);
      assert.doesNotMatch(JSON.stringify(body), /secret|127\.0\.0\.1|keystead_server/);
      await until(() => logged().includes('"the database is unavailable'), "the log to say so");
      await end();
      const before = count(load, 200);
      await until(() => count(load, 200) > before + 20, "the load to go on");
      await until(async () => (await readyz(server)).status === 200, "the server to be ready");
      await until(() => logged().includes('"the database is available again"'), "the log to say so");
      await load.stop();
      await checkAnswers(load, store);
      // However many requests it ended, the log tells of it now and then, as of something that is no defect.
      const lines = logged()
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line));
      const isOutage = ({ level, msg }: Line) => level >= WARN && msg.startsWith("the database is not available");
      assert.ok(lines.filter(isOutage).length <= 5, "once a minute");
      assert.deepEqual(
        lines.filter(({ level, err }: Line) => level > WARN || err !== undefined),
        [],
      );
      assert.ok(isRunning(server.pid));
    });
  }

  it("fewer connections than it may open, of which requests have all: they are answered, and /readyz says so", async (test) => {
    const load = startLoad(server.root, subjects);
    test.after(load.stop);
    await operate(`alter role ${ROLE} connection limit 3`, END_CONNECTIONS);
    const before = count(load, 200);
    await until(() => count(load, 200) > before + 20, "the load to go on");
    // On a busy machine a single look may end before its answer.
    for (let times = 0; times < 4; times++) {
      await until(async () => (await readyz(server)).status === 200, "the server to be ready");
      const then = count(load, 200);
      await until(() => count(load, 200) > then + 5, "the load to go on");
    }
    await load.stop();
    await operate(`alter role ${ROLE} connection limit -1`);
    await checkAnswers(load, store);
  });

  it("a database that is read and takes no writes: the log tells when that begins and when it is over", async () => {
    const loggedBefore = server.stdout().length;
    const logged = () => server.stdout().slice(loggedBefore);
    await operate(`alter role ${ROLE} set default_transaction_read_only = on`, END_CONNECTIONS);
    await until(async () => (await readyz(server)).body.database === "unwritable", "/readyz to say so");
    await until(
      () => logged().includes('"the database does not accept writes; /readyz says why"'),
      "the log to say so",
    );
    await operate(`alter role ${ROLE} reset default_transaction_read_only`, END_CONNECTIONS);
    await until(() => logged().includes('"the database accepts writes again"'), "the log to say so");
    await until(async () => (await readyz(server)).status === 200, "the server to be ready");
  });

  it("TLS is as strict as DATABASE_URL says", async () => {
    const authority = `sslrootcert=${TLS}/valid.pem`;
    const found: Record<string, string> = {};
    for (const query of [
      `sslmode=verify-full&${authority}`,
      `uselibpqcompat=true&sslmode=verify-ca&${authority}`,
      "sslmode=no-verify",
    ]) {
      const inspection = await openInspection(urlWith(query));
      found[query] = inspection.encryption;
      await inspection.close();
    }
    assert.deepEqual(Object.values(found), ["verified", "nameless", "unverified"]);
    const plain = await openInspection(postgres.url);
    assert.deepEqual([plain.encryption, plain.certificates], ["local", []]);
    await plain.close();
  });

  it("when the certificates of a connection end is told, PostgreSQL's and the client's, before they do", async () => {
    const folder = temporaryFolder();
    const own = newCertificate();
    const [cert, key] = [join(folder, "own.crt"), join(folder, "own.key")];
    writeFileSync(cert, own.certificate);
    writeFileSync(key, own.key, { mode: 0o600 });
    const endOf = (pem: string) => new X509Certificate(pem).validToDate.getTime();
    const authority = `sslmode=verify-full&sslrootcert=${TLS}/valid.pem`;
    const url = urlWith(`${authority}&sslcert=${cert}&sslkey=${key}`);
    const inspection = await openInspection(url);
    await inspection.close();
    assert.deepEqual(inspection.certificates, [
      { whose: "PostgreSQL", endsAt: endOf(first.certificate) },
      { whose: "client", endsAt: endOf(own.certificate) },
    ]);
    const blind = await openInspection(urlWith("sslmode=no-verify"));
    await blind.close();
    assert.deepEqual(blind.certificates, [], "nobody looks at its end");
    const pooled = openDatabase({ url });
    await pooled.read.selectFrom("organizations").select("id").execute();
    const endsAt = pooled.figures().pool?.certificateEndsAt;
    await pooled.close();
    assert.equal(endsAt, Math.min(endOf(first.certificate), endOf(own.certificate)));
    const direct = await store.read.selectFrom("organizations").select("id").execute();
    assert.deepEqual([direct.length, store.figures().pool?.certificateEndsAt], [1, undefined]);
  });

  it("a certificate that DATABASE_URL does not take is refused, and it is said what is wrong with it", async () => {
    const folder = temporaryFolder();
    const nameless = newCertificate();
    for (const [name, { certificate }] of Object.entries({ nameless, foreign: newCertificate() })) {
      writeFileSync(join(folder, `${name}.crt`), certificate);
    }
    const reasonWith = async (authority: string): Promise<string> => {
      const failure = await openInspection(urlWith(`sslmode=verify-full&sslrootcert=${authority}`)).then(
        () => assert.fail("it was taken"),
        (error: unknown) => error,
      );
      assert.ok(failure instanceof DatabaseFailure);
      return failure.reason;
    };
    // The server goes on with the connections that it has.
    const serveWith = async (certificate: Certificate) => {
      withCertificate(certificate);
      await operate("select pg_reload_conf()");
    };
    const foreign = join(folder, "foreign.crt");
    assert.match(await reasonWith(foreign), /not accepted: it is not signed by an authority in `sslrootcert`$/);
    const refusal = await refusalOf({
      dataDir: folder,
      databaseUrl: urlWith(`sslmode=verify-full&sslrootcert=${foreign}`),
    });
    assert.match(
      refusal,
      /^keystead: the database cannot be opened: the database has a TLS certificate .+ not signed by an authority/,
    );
    assert.doesNotMatch(refusal, /secret/);
    await serveWith(nameless);
    await until(
      async () => /not accepted: it is for another host/.test(await reasonWith(join(folder, "nameless.crt"))),
      "the certificate without the name",
    );
    await serveWith(certificateIn("expired.pem"));
    await until(
      async () => /not accepted: it has expired$/.test(await reasonWith(join(TLS, "expired.pem"))),
      "the certificate that has expired",
    );
    await serveWith(first);
  });

  it("a restart: requests wait for it or are told, and none is lost", async () => {
    const load = startLoad(server.root, subjects);
    await until(() => count(load, 200) > 20, "the load");
    for (let time = 0; time < 2; time++) {
      const before = count(load, 200);
      await postgres.restart();
      await until(() => count(load, 200) > before + 20, "the load to go on");
    }
    await load.stop();
    await checkAnswers(load, store);
  });

  it("an outage that is over soon is a delay: reads notice nothing", async () => {
    const reads = Array.from({ length: 8 }, async () => {
      const statuses = new Set<number>();
      for (let turn = 0; turn < 20; turn++) statuses.add((await server.root.query("list_users")).status);
      return statuses;
    });
    for (let time = 0; time < 3; time++) {
      await operate(`alter role ${ROLE} connection limit 0`, END_CONNECTIONS, `alter role ${ROLE} connection limit -1`);
    }
    for (const statuses of await Promise.all(reads)) assert.deepEqual([...statuses], [200]);
  });

  it("tables that change under prepared statements: nobody notices", async () => {
    const load = startLoad(server.root, subjects);
    const operator = new pg.Client({ connectionString: postgres.url.replace(/\/postgres$/, `/${DATABASE}`) });
    await operator.connect();
    for (let time = 0; time < 3; time++) {
      const before = count(load, 200);
      // What the server reads as a whole row.
      for (const table of ["users", "activities", "api_keys", "votes"]) {
        await operator.query(`alter table ${table} add column of_later_${time} text`);
      }
      await until(() => count(load, 200) > before + 30, "the load to go on");
    }
    await load.stop();
    for (const table of ["users", "activities", "api_keys", "votes"]) {
      for (let time = 0; time < 3; time++) await operator.query(`alter table ${table} drop column of_later_${time}`);
    }
    await operator.end();
    const others = load.answers.filter(({ answer }) => answer.status !== 200);
    assert.deepEqual(
      others.map(({ answer }) => answer.body),
      [],
    );
    await checkAnswers(load, store);
    assert.doesNotMatch(server.stdout(), /"internal server error/);
  });
});
