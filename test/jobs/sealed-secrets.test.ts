import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Type } from "typebox";
import { listJobs } from "../../src/engine/jobs/admin.ts";
import { enqueue, type JobKind, job } from "../../src/engine/jobs/jobs.ts";
import { openJobSecret, sealJobSecret } from "../../src/engine/jobs/sealed-secrets.ts";
import { JobWorker } from "../../src/engine/jobs/worker.ts";
import { newId } from "../../src/kernel/ids.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { dumpDatabase } from "../support/database-dump.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const CODE = "the-one-time-code-739145";

for (const engine of engines) {
  describe(`secrets of jobs (${engine})`, () => {
    let server: TestServer;
    const workers: JobWorker[] = [];
    before(async () => {
      server = await startTestServer(engine);
    });
    after(async () => {
      await Promise.all(workers.map((worker) => worker.stop()));
      await server.close();
    });

    const seen: unknown[] = [];
    const kindNamed = (name: string): JobKind =>
      job({
        name,
        payload: Type.Object({ contact: Type.String() }),
        secret: Type.Object({ code: Type.String() }),
        async run({ secret, payload }) {
          seen.push({ ...payload, ...secret });
          return { next: { do: "finish" } };
        },
      });
    const logged: string[] = [];
    const start = async (kinds: JobKind[]) => {
      const { database, signer } = server.opened;
      const log = createLogger("debug", { write: (line: string) => void logged.push(line) });
      const surroundings = { database, clock: Date.now, log };
      const worker = new JobWorker({ surroundings, services: {} as never, signer, kinds, pollMs: 5 });
      workers.push(worker);
      await worker.start();
    };
    const queue = async (kind: string, sealedFor = kind) => {
      const { database, signer } = server.opened;
      const secret = await sealJobSecret({ read: database.read, signer }, sealedFor, { code: CODE });
      const now = Date.now();
      const lane = newId();
      const rest = { lane, gate: lane, organizationId: null, runAt: now, now };
      await database.transact(undefined, (tx) =>
        enqueue(tx, { kind, payload: { contact: "a@b.cd" }, secret, ...rest }),
      );
    };

    it("are opened for the run, and shown to nobody else", async () => {
      await queue("mail_code");
      const { database } = server.opened;
      const dump = JSON.stringify(await dumpDatabase(database));
      assert.ok(!dump.includes(CODE) && !dump.includes(Buffer.from(CODE).toString("base64")));
      const listed = JSON.stringify(await listJobs(database.read, "waiting", 100));
      assert.match(listed, /mail_code/);
      assert.ok(!/sealed|739145/.test(listed));
      await start([kindNamed("mail_code")]);
      await until(() => seen.length > 0);
      assert.deepEqual(seen, [{ contact: "a@b.cd", code: CODE }]);
      assert.ok(!logged.join("").includes(CODE));
    });

    it("serve the kind of job alone that they were sealed for", async () => {
      const { database, signer } = server.opened;
      const asking = { read: database.read, signer };
      const sealed = await sealJobSecret(asking, "mail_code", { code: CODE });
      assert.deepEqual(await openJobSecret(asking, "mail_code", sealed), { code: CODE });
      await assert.rejects(openJobSecret(asking, "other_kind", sealed));
      await assert.rejects(openJobSecret(asking, "mail_code", { ...sealed, id: newId() }));
    });

    it("that are of another shape end their job before it runs", async () => {
      const { database, signer } = server.opened;
      const secret = await sealJobSecret({ read: database.read, signer }, "misshapen", { token: CODE });
      const now = Date.now();
      const rest = { lane: newId(), gate: "gate", organizationId: null, runAt: now, now };
      await database.transact(undefined, (tx) =>
        enqueue(tx, { kind: "misshapen", payload: { contact: "a@b.cd" }, secret, ...rest }),
      );
      const before = seen.length;
      await start([kindNamed("misshapen")]);
      const dead = () => listJobs(database.read, "dead", 100);
      await until(async () => (await dead()).some(({ kind }) => kind === "misshapen"));
      assert.equal(seen.length, before);
      assert.ok(!JSON.stringify(await dead()).includes(CODE));
    });
  });
}
