import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { Type } from "typebox";
import { listJobs, retryDeadJobs } from "../../src/engine/jobs/admin.ts";
import { gatesOf } from "../../src/engine/jobs/gates.ts";
import {
  dropJobs,
  enqueue,
  JOB_BACK_OFF,
  type JobContext,
  type JobKind,
  type JobResult,
  job,
  type NewJob,
  reconciler,
} from "../../src/engine/jobs/jobs.ts";
import { pruneJobLanes } from "../../src/engine/jobs/prune-lanes.ts";
import { JobWorker, type JobWorkerOptions } from "../../src/engine/jobs/worker.ts";
import { backOffMs } from "../../src/kernel/back-off.ts";
import { newId } from "../../src/kernel/ids.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { checkJobs } from "../../src/main/doctor/jobs.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { openInspection } from "../../src/storage/inspection.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { engines, testPostgresUrl } from "../support/server.ts";
import { runKeystead, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

const LEASE_MS = 15_000;
const Payload = Type.Object({ number: Type.Integer() });
type Context = JobContext<{ number: number }>;

/** As if the process were gone or its event loop stuck. */
const NO_RENEWAL = { renewMs: 3_600_000 };
const FINISH: JobResult = { next: { do: "finish" } };

describe("pauses between attempts", () => {
  it("double up to an hour and are shortened by at most half", () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (attempts, random) => {
        const full = Math.min(3_600_000, 1000 * 2 ** Math.min(attempts, 30));
        const pause = backOffMs(JOB_BACK_OFF, attempts, () => random);
        assert.ok(pause >= full / 2 && pause <= full, `${pause} after ${attempts}`);
      }),
    );
    const longest = Array.from({ length: 14 }, (_, attempts) => backOffMs(JOB_BACK_OFF, attempts, () => 0));
    assert.deepEqual(longest.slice(0, 4), [1000, 2000, 4000, 8000]);
    assert.deepEqual(longest.slice(-2), [3_600_000, 3_600_000]);
    assert.ok(
      new Set(Array.from({ length: 20 }, () => backOffMs(JOB_BACK_OFF, 10))).size > 1,
      "they do not march in step",
    );
  });
});

for (const engine of engines) {
  /** What several processes do at once can only happen there. */
  const itOnPostgres = engine === "postgres" ? it : () => {};

  describe(`jobs (${engine})`, () => {
    let url: string;
    let database: Database;
    const opened: Database[] = [];
    const workers: JobWorker[] = [];
    const children: ChildProcess[] = [];
    const open = () => {
      const one = openDatabase({ url });
      opened.push(one);
      return one;
    };
    before(async () => {
      url =
        engine === "sqlite"
          ? `sqlite:${join(temporaryFolder(), "jobs.db")}`
          : await createTestDatabase(testPostgresUrl(), `jobs_${newId().replaceAll("-", "")}`);
      database = open();
      await database.migrate();
    });
    after(async () => {
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all(opened.map((one) => one.close()));
    });

    let now = 1_800_000_000_000;
    const clock = () => now;
    const add = (kind: string, number: number, more: Partial<NewJob> = {}) => {
      const given = { payload: { number }, lane: "lane", gate: "gate", organizationId: null, runAt: now, now };
      return database.transact(undefined, (tx) => enqueue(tx, { kind, ...given, ...more }));
    };
    const jobsOf = (kind: string) => database.read.selectFrom("jobs").selectAll().where("kind", "=", kind).execute();
    const jobOf = async (kind: string) => {
      const jobs = await jobsOf(kind);
      assert.equal(jobs.length, 1);
      return jobs[0] as (typeof jobs)[number];
    };
    const isOver = (kind: string) => async () => (await jobsOf(kind)).length === 0;

    const logged: string[] = [];
    const start = async (kinds: JobKind[], options: Partial<JobWorkerOptions> & { database?: Database } = {}) => {
      const log = createLogger("debug", { write: (line: string) => void logged.push(line) });
      const { database: own = database, ...more } = options;
      const surroundings = { database: own, clock, log };
      // These kinds need and ask nothing.
      const nothing = { services: {} as never, signer: {} as never };
      const worker = new JobWorker({ surroundings, ...nothing, kinds, pollMs: 5, ...more });
      workers.push(worker);
      await worker.start();
      return worker;
    };
    /** A look is a read and, where something is due, a transaction. */
    const asLongAsALook = async () => {
      await database.transact(undefined, (tx) => tx.selectFrom("jobs").select("id").limit(1).execute());
      await new Promise(setImmediate);
    };
    /** A kind under a name of its own, and the numbers of its runs. */
    const counting = (run: (context: Context) => Promise<JobResult> | JobResult = () => FINISH, more: object = {}) => {
      const ran: number[] = [];
      const name = `kind-${newId()}`;
      const kind = job({
        name,
        payload: Payload,
        ...more,
        run: async (context) => {
          ran.push(context.payload.number);
          return run(context);
        },
      });
      return { name, kind, ran };
    };
    /** An open promise, to hold runs with. */
    const barrier = () => Promise.withResolvers<void>();

    it("run once and leave nothing", async () => {
      const { name, kind, ran } = counting();
      await add(name, 1);
      const worker = await start([kind]);
      await until(isOver(name));
      worker.wake();
      await worker.stop();
      assert.deepEqual(ran, [1]);
    });

    it("run at once after a start that has the database alone, whatever was leased by a clock that was ahead", async () => {
      const { name, kind, ran } = counting();
      await add(name, 1, { lane: name });
      const every = { name: `every-${newId()}`, ran: 0 };
      const coming = reconciler({ name: every.name, everyMs: 60_000, run: async () => void every.ran++ });
      await add(every.name, 0, { key: `reconciler:${every.name}`, lane: every.name, runAt: now + 3_600_000 });
      const owner = "a process that was killed";
      await database.transact(undefined, async (tx) => {
        for (const [lane, leaseMs] of [
          [name, LEASE_MS],
          [every.name, 3_600_000],
        ] as const) {
          await tx
            .updateTable("job_lanes")
            .set({ leased_until: now + leaseMs, owner })
            .where("lane", "=", lane)
            .execute();
        }
      });
      const worker = await start([kind, coming], { isAlone: true });
      await until(() => ran.length === 1 && every.ran === 1);
      await worker.stop();
    });

    it("go on when the clock is set back that their lane was given back by", async () => {
      const { kind, name } = counting();
      const lane = newId();
      const worker = await start([kind]);
      now += 3_600_000;
      await add(name, 1, { lane });
      await until(isOver(name), "the job of the clock that is ahead");
      now -= 3_600_000;
      await add(name, 2, { lane });
      await until(isOver(name), "the job after it");
      await worker.stop();
    });

    it("wait no longer than they were put off for when the clock is set back that put them off, be it meanwhile or while no server ran", async () => {
      for (const meanwhile of [true, false]) {
        const { name, kind, ran } = counting(() => (ran.length === 1 ? { next: { do: "retry", inMs: 5000 } } : FINISH));
        const later = counting();
        const first = await start([kind, later.kind]);
        now += 3_600_000;
        await add(name, 1, { lane: name });
        await add(later.name, 2, { lane: later.name, runAt: now + 86_400_000 });
        const runAt = async (of: string) =>
          (await database.read.selectFrom("jobs").select("run_at").where("kind", "=", of).executeTakeFirst())?.run_at;
        await until(async () => ran.length === 1 && (await runAt(name)) === now + 5000, "it to be put off");
        if (!meanwhile) await first.stop();
        now -= 3_600_000;
        const worker = meanwhile ? first : await start([kind, later.kind]);
        await until(async () => (await runAt(name)) === now + 5000, "it to be put off by the clock of now");
        now += 5000;
        await until(isOver(name), "the second run");
        const told = logged.filter((line) => line.includes("postponed because the clock was set back"));
        assert.ok(told.length > 0 && !told.some((line) => line.includes('"jobs":0')), told.join(""));
        // What is to wait for a day waits for a day.
        assert.equal(await runAt(later.name), now - 5000 + 86_400_000);
        assert.deepEqual(later.ran, []);
        await worker.stop();
        await database.transact(undefined, (tx) => tx.deleteFrom("jobs").where("kind", "=", later.name).execute());
      }
    });

    it("run again when they wanted to, however rarely work is looked for that nobody announced", async () => {
      const isThird = barrier();
      const { name, kind, ran } = counting(() => {
        if (ran.length < 3) return { next: { do: "retry", inMs: 300 } };
        isThird.resolve();
        return FINISH;
      });
      await add(name, 1, { lane: name, runAt: Date.now(), now: Date.now() });
      const surroundings = { database, clock: Date.now, log: createLogger("silent") };
      const worker = await start([kind], { surroundings, pollMs: 3_600_000 });
      await isThird.promise;
      await until(isOver(name));
      await worker.stop();
    });

    it("run as soon as they are stored, however rarely work is looked for, also where that is just being done", async () => {
      const { name, kind, ran } = counting();
      let onLook = () => {};
      let asked = 0;
      const watched = () => {
        const at = now;
        // A look asks for the time first to see whether the clock was set back, and then to find what is due.
        if (++asked === 2) onLook();
        return at;
      };
      const surroundings = { database, clock: watched, log: createLogger("silent") };
      const options = { surroundings, services: {} as never, signer: {} as never, kinds: [kind], pollMs: 3_600_000 };
      const first = new JobWorker(options);
      await first.start();
      await until(() => asked >= 2, "the first look");
      await add(name, 1, { lane: name });
      await until(isOver(name), "what is announced");
      await first.stop();
      await add(name, 2, { lane: name, runAt: now + 1000 });
      const worker = new JobWorker(options);
      // It becomes due, and is announced, after the look has asked for the time.
      onLook = () => {
        now += 1000;
        worker.wake();
      };
      asked = 0;
      await worker.start();
      await until(isOver(name), "what was announced during a look");
      await worker.stop();
      assert.deepEqual(ran, [1, 2]);
    });

    it("leave no timers, however often work is looked for and however many workers stop", async () => {
      const timers = () => process.getActiveResourcesInfo().filter((each) => each === "Timeout").length;
      const { name, kind, ran } = counting(() => ({ next: { do: "retry", inMs: 600_000 } }));
      const before = timers();
      const rounds = 20;
      for (let round = 1; round <= rounds; round++) {
        await add(name, round, { lane: `${name}-${round}` });
        const worker = await start([kind], { pollMs: 3_600_000 });
        await until(() => ran.length === round);
        for (let wake = 0; wake < 5; wake++) {
          worker.wake();
          await new Promise(setImmediate);
        }
        await worker.stop();
      }
      assert.ok(timers() - before < rounds / 2, `${timers() - before} more timers`);
      const idle = await start([kind], { pollMs: 3_600_000 });
      const started = timers();
      for (let wake = 0; wake < rounds * 5; wake++) {
        idle.wake();
        await asLongAsALook();
      }
      assert.ok(timers() - started < rounds / 2, `${timers() - started} more timers`);
      await idle.stop();
      await database.transact(undefined, (tx) => tx.deleteFrom("jobs").where("kind", "=", name).execute());
    });

    it("that are claimed while a worker stops are given back before it has stopped", async () => {
      const { name, kind, ran } = counting();
      await add(name, 1, { lane: name });
      let stopped: Promise<void> | undefined;
      let asked = 0;
      let stored = 0;
      let atTheEnd: number | undefined;
      const watched = () => {
        if (++asked === 3) {
          stopped = worker.stop().then(() => {
            atTheEnd = stored;
          });
        }
        return now;
      };
      const counted = Object.assign(Object.create(database) as Database, {
        read: database.read,
        transact: ((...given: Parameters<Database["transact"]>) => {
          stored++;
          return database.transact(...given);
        }) as Database["transact"],
      });
      const surroundings = { database: counted, clock: watched, log: createLogger("silent") };
      const worker = new JobWorker({ surroundings, services: {} as never, signer: {} as never, kinds: [kind] });
      await worker.start();
      await until(() => stopped !== undefined, "a look that finds the job");
      await stopped;
      await asLongAsALook();
      assert.equal(stored, atTheEnd, "it does no more once it has stopped");
      assert.deepEqual(ran, []);
      const { leased_until } = await database.read
        .selectFrom("job_lanes")
        .select("leased_until")
        .where("lane", "=", name)
        .executeTakeFirstOrThrow();
      assert.ok(leased_until <= now);
      await database.transact(undefined, (tx) => tx.deleteFrom("jobs").where("kind", "=", name).execute());
    });

    it("of one lane run one at a time in the order of their time", async () => {
      let running = 0;
      const { name, kind, ran } = counting(async () => {
        assert.equal(++running, 1);
        await new Promise(setImmediate);
        running--;
        return FINISH;
      });
      const numbers = Array.from({ length: 60 }, (_, index) => (index * 37) % 60);
      for (const number of numbers) await add(name, number, { runAt: now - 1000 + number });
      const worker = await start([kind]);
      await until(isOver(name));
      await worker.stop();
      assert.deepEqual(
        ran,
        numbers.toSorted((a, b) => a - b),
      );
    });

    it("of different lanes run at the same time", async () => {
      const all = barrier();
      const { name, kind, ran } = counting(async () => {
        if (ran.length === 5) all.resolve();
        await all.promise;
        return FINISH;
      });
      for (let number = 0; number < 5; number++) await add(name, number, { lane: `parallel-${number}` });
      const worker = await start([kind]);
      await until(isOver(name));
      await worker.stop();
    });

    it("run in so many lanes at a time, and no more", async () => {
      const held = barrier();
      let running = 0;
      let most = 0;
      const { name, kind, ran } = counting(async () => {
        most = Math.max(most, ++running);
        await held.promise;
        running--;
        return FINISH;
      });
      for (let number = 0; number < 12; number++) {
        await add(name, number, { lane: `${name}-${number}`, gate: `${name}-${number}` });
      }
      const worker = await start([kind], { maxLanes: 3, pollMs: 3_600_000 });
      await until(() => running === 3);
      // Each look would begin more.
      for (let look = 0; look < 5; look++) {
        worker.wake();
        await asLongAsALook();
      }
      held.resolve();
      await until(isOver(name));
      await worker.stop();
      assert.equal(most, 3);
      assert.equal(ran.length, 12);
    });

    it("of one gate are bounded and do not hold up another gate", async () => {
      const held = barrier();
      let running = 0;
      let most = 0;
      const slow = counting(async () => {
        most = Math.max(most, ++running);
        await held.promise;
        running--;
        return FINISH;
      });
      const other = counting();
      for (let number = 0; number < 12; number++) {
        await add(slow.name, number, { lane: `slow-${number}`, gate: "slow" });
      }
      const worker = await start([slow.kind, other.kind], { maxLanesPerGate: 3 });
      await until(() => running === 3);
      await add(other.name, 1, { lane: "other", gate: "other" });
      worker.wake();
      await until(isOver(other.name));
      assert.equal(running, 3);
      held.resolve();
      await until(isOver(slow.name));
      await worker.stop();
      assert.equal(most, 3);
      assert.equal(new Set(slow.ran).size, 12);
      assert.equal(slow.ran.length, 12);
    });

    it("of several gates are begun where there is room at each", async () => {
      const held = barrier();
      const running: string[] = [];
      const most: Record<string, number> = {};
      const slow = counting(async ({ payload: { number } }) => {
        const gate = number % 2 === 0 ? "even" : "odd";
        for (const one of [gate, "all"]) {
          running.push(one);
          most[one] = Math.max(most[one] ?? 0, running.filter((each) => each === one).length);
        }
        await held.promise;
        for (const one of [gate, "all"]) running.splice(running.indexOf(one), 1);
        return FINISH;
      });
      const other = counting();
      for (let number = 0; number < 12; number++) {
        const gate = gatesOf(number % 2 === 0 ? "even" : "odd", { name: "all", lanes: 4 });
        await add(slow.name, number, { lane: `several-${number}`, gate });
      }
      const worker = await start([slow.kind, other.kind], { maxLanesPerGate: 3 });
      await until(() => running.filter((one) => one === "all").length === 4);
      await add(other.name, 1, { lane: "beside", gate: "beside" });
      worker.wake();
      await until(isOver(other.name));
      held.resolve();
      await until(isOver(slow.name));
      await worker.stop();
      assert.equal(most.all, 4);
      assert.ok(Math.max(most.even ?? 0, most.odd ?? 0) <= 3, JSON.stringify(most));
      assert.equal(new Set(slow.ran).size, 12);
    });

    it("that fail pause longer each time, die at the last attempt, and stay", async () => {
      const { name, kind, ran } = counting(
        () => {
          throw new Error("planted");
        },
        { maxAttempts: 4 },
      );
      const behind = counting();
      await add(name, 1, { lane: "failing" });
      await add(behind.name, 2, { lane: "failing", runAt: now });
      const worker = await start([kind, behind.kind]);
      await until(isOver(behind.name));
      for (let attempt = 1; attempt < 4; attempt++) {
        await until(async () => (await jobOf(name)).attempts === attempt);
        const { run_at, state, last_error } = await jobOf(name);
        const full = 1000 * 2 ** (attempt - 1);
        assert.ok(run_at - now >= full / 2 && run_at - now <= full, `${run_at - now} ms after attempt ${attempt}`);
        assert.deepEqual([state, last_error], ["waiting", "planted"]);
        now = run_at;
      }
      await until(async () => (await jobOf(name)).state === "dead");
      now += 100 * LEASE_MS;
      const later = counting();
      await add(later.name, 3, { lane: "failing" });
      await worker.stop();
      const next = await start([kind, later.kind]);
      await until(isOver(later.name));
      await next.stop();
      assert.equal(ran.length, 4);
      assert.equal((await jobOf(name)).state, "dead");
      const told = logged
        .map((line) => JSON.parse(line))
        .filter(({ msg, kind }) => msg === "a job failed" && kind === name);
      assert.deepEqual(
        told.map(({ attempts, reason }) => [attempts, reason]),
        [1, 2, 3, 4].map((attempt) => [attempt, "planted"]),
      );
    });

    it("that died are listed and brought back, by name or all of them", async () => {
      const { name, kind, ran } = counting(({ attempts }) =>
        attempts === 0 && ran.length <= 3 ? { next: { do: "die" }, reason: "given up" } : FINISH,
      );
      for (const number of [1, 2, 3]) await add(name, number, { lane: `dead-${number}` });
      const worker = await start([kind]);
      await until(async () => (await jobsOf(name)).every(({ state }) => state === "dead"));
      const listed = (await listJobs(database.read, "dead", 1000)).filter((one) => one.kind === name);
      assert.deepEqual(
        listed.map(({ payload, lastError, state }) => [payload, lastError, state]),
        [1, 2, 3].map((number) => [{ number }, "given up", "dead"]),
      );
      const [first] = listed;
      const id = first?.id as string;
      assert.deepEqual(await retryDeadJobs(database, [id, newId()], now), [id]);
      await until(async () => (await jobsOf(name)).length === 2);
      const revived = await retryDeadJobs(database, undefined, now);
      assert.ok(listed.slice(1).every((one) => revived.includes(one.id)));
      await until(isOver(name));
      await worker.stop();
      assert.deepEqual(ran.toSorted(), [1, 1, 2, 2, 3, 3]);
    });

    it("that died are shown and brought back by the command line", async () => {
      const { name, kind } = counting(() => ({ next: { do: "die" }, reason: "for the operator" }));
      for (const number of [1, 2]) await add(name, number, { lane: `cli-${number}` });
      const worker = await start([kind]);
      await until(async () => (await jobsOf(name)).every(({ state }) => state === "dead"));
      await worker.stop();
      const settings = { DATABASE_URL: url, KEYSTEAD_DATA_DIR: temporaryFolder() };
      const list = async (...args: string[]) => {
        const { code, stdout, stderr } = await runKeystead(["jobs", "list", ...args], settings);
        assert.equal(code, 0, stderr);
        return (JSON.parse(stdout) as { id: string; kind: string; lastError: string }[]).filter(
          (one) => one.kind === name,
        );
      };
      const dead = await list();
      assert.deepEqual(
        dead.map(({ lastError }) => lastError),
        ["for the operator", "for the operator"],
      );
      const cut = await runKeystead(["jobs", "list", "--limit", "1"], settings);
      assert.equal(JSON.parse(cut.stdout).length, 1);
      assert.equal(
        cut.stderr,
        "keystead: there are more dead jobs than the 1 that are listed; --limit lists up to 99999\n",
      );
      const seen = openInspection(url);
      const { state, text } = await seen.then(checkJobs);
      assert.equal(state, "warn");
      assert.match(text, /^\d+ jobs are dead: /);
      await (await seen).close();
      const id = dead[0]?.id as string;
      const lanes = async (...args: string[]) => {
        const { code, stdout, stderr } = await runKeystead(["jobs", "lanes", ...args], settings);
        assert.equal(code, 0, stderr);
        const shown = JSON.parse(stdout) as { lane: string; waiting: number }[];
        return shown.filter(({ lane }) => lane.startsWith("cli-"));
      };
      assert.deepEqual(await lanes(), [], "dead jobs wait for nobody");
      const one = await runKeystead(["jobs", "retry", id], settings);
      assert.deepEqual(JSON.parse(one.stdout), { retried: [id] });
      assert.deepEqual(
        (await list("--state", "waiting")).map((job) => job.id),
        [id],
      );
      assert.deepEqual(
        (await lanes("--limit", "1000")).map(({ waiting }) => waiting),
        [1],
      );
      const failing = await runKeystead(["webhooks", "failing"], settings);
      assert.deepEqual(JSON.parse(failing.stdout), []);
      const all = await runKeystead(["jobs", "retry", "--all"], settings);
      assert.ok(JSON.parse(all.stdout).retried.includes(dead[1]?.id));
      assert.deepEqual(await list(), []);
      for (const args of [
        ["retry"],
        ["retry", id, "--all"],
        ["list", "--state", "odd"],
        ["list", "--limit", "0"],
        ["lanes", "--limit", "1001"],
      ]) {
        const refused = await runKeystead(["jobs", ...args], settings);
        assert.equal(refused.code, 1, args.join(" "));
        assert.match(refused.stderr, /^keystead: /);
      }
      await database.transact(undefined, async (tx) => {
        for (const number of [1, 2]) await dropJobs(tx, `cli-${number}`, newId());
      });
      assert.deepEqual(await jobsOf(name), []);
    });

    it("of a process that hangs go to another after the lease, and what it does then counts for nothing", async () => {
      const held = barrier();
      const recorded: string[] = [];
      const kindOf = (who: string, run: () => Promise<void>) =>
        counting(async () => {
          await run();
          return {
            ...FINISH,
            record: async () => {
              recorded.push(who);
            },
          };
        });
      const first = kindOf("first", () => held.promise);
      const second = kindOf("second", async () => {});
      await add(first.name, 1, { lane: "leased" });
      const hanging = await start([first.kind], NO_RENEWAL);
      await until(() => first.ran.length === 1);

      const renamed = { ...second.kind, name: first.name };
      const other = await start([renamed], { database: open() });
      const probe = counting();
      const settled = async (seconds: number) => {
        now += seconds * 1000;
        await add(probe.name, 1, { lane: `probe-${newId()}` });
        const prober = await start([probe.kind]);
        await until(isOver(probe.name));
        await prober.stop();
        other.wake();
      };
      await settled(14);
      assert.deepEqual(second.ran, []);
      await settled(2);
      await until(isOver(first.name));
      assert.deepEqual(second.ran, [1]);
      held.resolve();
      await until(() => logged.some((line) => line.includes("the lease was lost to another process")));
      await hanging.stop();
      await other.stop();
      assert.deepEqual(first.ran, [1], "its own lease running out starts nothing anew");
      assert.deepEqual(recorded, ["second"]);
    });

    it("that take long keep their lease for five minutes", async () => {
      const held = barrier();
      const long = counting(async () => {
        await held.promise;
        return FINISH;
      });
      const taken = counting();
      await add(long.name, 1, { lane: "long" });
      const first = await start([long.kind], { renewMs: 10 });
      await until(() => long.ran.length === 1);
      const began = now;
      const other = await start([{ ...taken.kind, name: long.name }], { database: open(), ...NO_RENEWAL });
      const lane = () =>
        database.read.selectFrom("job_lanes").selectAll().where("lane", "=", "long").executeTakeFirstOrThrow();
      while (now + LEASE_MS - 1 < began + 5 * 60_000) {
        now += LEASE_MS - 1;
        await until(async () => (await lane()).leased_until === now + LEASE_MS);
      }
      assert.deepEqual(taken.ran, []);
      // After five minutes the lease is still in force, and is not renewed any more.
      const { leased_until: last } = await lane();
      now = began + 5 * 60_000;
      const isOfHung = (line: string) => line.includes(`"kind":"${long.name}"`) && line.includes("is taken for hung");
      await until(() => logged.some(isOfHung));
      assert.equal((await lane()).leased_until, last);
      now += LEASE_MS;
      await until(() => taken.ran.length === 1);
      held.resolve();
      await first.stop();
      await other.stop();
      assert.equal(logged.filter(isOfHung).length, 1);
      assert.deepEqual(await jobsOf(long.name), []);
    });

    const startChild = async (file: string) => {
      const child = fork(fileURLToPath(new URL("../support/job-process.ts", import.meta.url)), [url, file]);
      children.push(child);
      await once(child, "message");
      return child;
    };
    const linesOf = (file: string): string[] => {
      try {
        return readFileSync(file, "utf8").split("\n").slice(0, -1);
      } catch {
        return [];
      }
    };

    it("that take long have their lease renewed in time, unless said otherwise", async () => {
      const held = barrier();
      const { name, kind, ran } = counting(async () => {
        await held.promise;
        return FINISH;
      });
      await add(name, 1, { lane: name });
      const worker = await start([kind], { leaseMs: 60 });
      await until(() => ran.length === 1);
      now += 30;
      const lane = () =>
        database.read.selectFrom("job_lanes").selectAll().where("lane", "=", name).executeTakeFirstOrThrow();
      await until(async () => (await lane()).leased_until === now + 60, "the lease to be renewed at half of it");
      assert.ok(!logged.some((line) => line.includes("taken for hung") && line.includes(name)));
      held.resolve();
      await until(isOver(name));
      await worker.stop();
    });

    it("of a killed process go to another after the lease", async () => {
      const file = join(temporaryFolder(), "runs");
      const real = Date.now();
      await add("hang", 7, { lane: "killed", runAt: real, now: real });
      const child = await startChild(file);
      await until(() => linesOf(file).length === 1);
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
      const taken = counting();
      const clockNow = now;
      now = real + LEASE_MS / 2;
      const worker = await start([{ ...taken.kind, name: "hang" }]);
      await add(taken.name, 1, { lane: "marker" });
      const marker = await start([taken.kind]);
      await until(isOver(taken.name));
      assert.deepEqual(taken.ran, [1], "not before the lease has ended");
      now = Date.now() + LEASE_MS;
      await until(isOver("hang"));
      assert.deepEqual(taken.ran, [1, 7]);
      await worker.stop();
      await marker.stop();
      now = Math.max(clockNow, now);
    });

    itOnPostgres("are shared by two processes without doubling", async () => {
      const file = join(temporaryFolder(), "runs");
      const real = Date.now();
      for (let number = 0; number < 500; number++) {
        await add("count", number, {
          lane: `shared-${number % 50}`,
          gate: `gate-${number % 50}`,
          runAt: real,
          now: real,
        });
      }
      const two = await Promise.all([startChild(file), startChild(file)]);
      await until(isOver("count"));
      for (const child of two) {
        const exit = once(child, "exit");
        child.send("stop");
        await exit;
      }
      const numbers = linesOf(file).map(Number);
      assert.equal(numbers.length, 500);
      assert.equal(new Set(numbers).size, 500);
      for (let lane = 0; lane < 50; lane++) {
        const ofLane = numbers.filter((number) => number % 50 === lane);
        assert.deepEqual(
          ofLane,
          ofLane.toSorted((a, b) => a - b),
        );
      }
    });

    it("are shared by two workers without doubling", async () => {
      const first = counting();
      const second = counting();
      for (let number = 0; number < 500; number++) {
        await add(first.name, number, { lane: `both-${number % 50}`, gate: `gate-${number % 50}` });
      }
      const other = { ...second.kind, name: first.name };
      const both = await Promise.all([start([first.kind]), start([other], { database: open(), maxLanes: 4 })]);
      await until(isOver(first.name));
      await Promise.all(both.map((worker) => worker.stop()));
      const all = [...first.ran, ...second.ran];
      assert.equal(all.length, 500);
      assert.equal(new Set(all).size, 500);
    });

    it("without input run once a period over two workers, and go on after failures", async () => {
      let runs = 0;
      let failing = false;
      const every = reconciler({
        name: `every-${newId()}`,
        everyMs: 3_600_000,
        run: async () => {
          runs++;
          if (failing) throw new Error("planted");
        },
      });
      const both = await Promise.all([start([every]), start([every], { database: open() })]);
      const next = async () => (await jobOf(every.name)).run_at;
      // Whoever ran it has let go of its lane as well: all leases end when an hour goes by at once.
      const rests = async () => {
        const { run_at, lane } = await jobOf(every.name);
        const { leased_until } = await database.read
          .selectFrom("job_lanes")
          .select("leased_until")
          .where("lane", "=", lane)
          .executeTakeFirstOrThrow();
        return run_at === now + 3_600_000 && leased_until <= now;
      };
      for (let period = 1; period <= 3; period++) {
        await until(rests);
        assert.equal(runs, period);
        now += 3_600_000;
      }
      await until(rests);
      failing = true;
      now += 3_600_000;
      for (let attempt = 1; attempt <= 25; attempt++) {
        await until(async () => (await jobOf(every.name)).attempts === attempt);
        assert.equal((await jobOf(every.name)).last_error, "planted");
        now = await next();
      }
      failing = false;
      await until(async () => (await next()) === now + 3_600_000);
      const { attempts, last_error } = await jobOf(every.name);
      assert.deepEqual([attempts, last_error], [0, null]);
      await Promise.all(both.map((worker) => worker.stop()));
    });

    it("of an unknown kind wait untouched until somebody knows it", async () => {
      const { name, kind, ran } = counting();
      const known = counting();
      await add(name, 1, { lane: "unknown" });
      let transactions = 0;
      const counted: Database = {
        ...database,
        transact: (scope, work) => {
          transactions++;
          return database.transact(scope, work);
        },
      };
      const worker = await start([known.kind], { database: counted });
      await add(known.name, 2, { lane: "unknown" });
      await until(isOver(known.name));
      transactions = 0;
      for (let look = 0; look < 20; look++) {
        worker.wake();
        await new Promise(setImmediate);
      }
      await worker.stop();
      assert.ok(transactions <= 1, `${transactions} transactions for nothing`);
      const { attempts, run_at, state } = await jobOf(name);
      assert.deepEqual([attempts, run_at, state], [0, now, "waiting"]);
      const newer = await start([kind]);
      await until(isOver(name));
      await newer.stop();
      assert.deepEqual(ran, [1]);
    });

    it("of a stopping worker go to another at once, without an attempt counted", async () => {
      const cut = barrier();
      const first = counting(async () => {
        await cut.promise;
        throw new Error("cut off");
      });
      for (const number of [1, 2, 3]) await add(first.name, number, { lane: "handed-over" });
      const stopping = await start([first.kind]);
      await until(() => first.ran.length === 1);
      const stopped = stopping.stop();
      cut.resolve();
      await stopped;
      const attempts = (await jobsOf(first.name)).map((row) => row.attempts);
      assert.deepEqual(attempts, [0, 0, 0]);
      const second = counting();
      const other = await start([{ ...second.kind, name: first.name }]);
      await until(isOver(first.name));
      await other.stop();
      assert.deepEqual(second.ran, [1, 2, 3]);
      assert.deepEqual(first.ran, [1]);
    });

    it("that a stopping worker has finished are over, and the next ones are not begun", async () => {
      const held = barrier();
      const { name, kind, ran } = counting(async () => {
        await held.promise;
        return FINISH;
      });
      for (const number of [1, 2]) await add(name, number, { lane: name, runAt: now - 10 + number });
      const stopping = await start([kind]);
      await until(() => ran.length === 1);
      const stopped = stopping.stop();
      held.resolve();
      await stopped;
      assert.deepEqual(
        (await jobsOf(name)).map(({ payload }) => payload),
        ['{"number":2}'],
      );
      await database.transact(undefined, (tx) => tx.deleteFrom("jobs").where("kind", "=", name).execute());
    });

    it("of a lane with many let others have their turn", async () => {
      const order: string[] = [];
      const many = counting(() => {
        order.push("many");
        return FINISH;
      });
      const one = counting(() => {
        order.push("one");
        return FINISH;
      });
      await database.transact(undefined, async (tx) => {
        const given = { lane: many.name, gate: many.name, organizationId: null, now };
        for (let number = 0; number < 130; number++) {
          await enqueue(tx, { kind: many.name, payload: { number }, runAt: now - 1000 + number, ...given });
        }
      });
      await add(one.name, 1, { lane: one.name, gate: one.name });
      // The one comes after them, if they are not interrupted.
      await database.transact(undefined, (tx) =>
        tx.updateTable("job_lanes").set({ leased_until: 1 }).where("lane", "=", one.name).execute(),
      );
      const worker = await start([many.kind, one.kind], { maxLanes: 1 });
      await until(async () => (await isOver(many.name)()) && (await isOver(one.name)()));
      await worker.stop();
      assert.equal(order.length, 131);
      assert.ok(order.indexOf("one") <= 100, `after ${order.indexOf("one")}`);
    });

    it("tell how each of their runs ended", async () => {
      const outcomes: string[] = [];
      const ends: JobResult[] = [
        { next: { do: "pause", inMs: 0 } },
        { next: { do: "retry", inMs: 0 }, reason: "not yet" },
        { next: { do: "retry", inMs: 0 } },
        FINISH,
      ];
      const tries: number[] = [];
      const several = counting(({ attempts }) => {
        tries.push(attempts);
        return ends[several.ran.length - 1] ?? FINISH;
      });
      const dying = counting(() => ({ next: { do: "die" }, reason: "given up" }));
      const throwing = counting(
        () => {
          throw new Error("planted");
        },
        { maxAttempts: 1 },
      );
      await add(several.name, 1, { lane: several.name });
      await add(dying.name, 1, { lane: dying.name });
      await add(throwing.name, 1, { lane: throwing.name });
      const names = new Map([several, dying, throwing].map(({ name }, place) => [name, place]));
      const worker = await start([several.kind, dying.kind, throwing.kind], {
        onRun: (kind, outcome) => outcomes.push(`${names.get(kind)} ${outcome}`),
      });
      await until(isOver(several.name));
      await until(() => outcomes.length === 6);
      await worker.stop();
      assert.deepEqual(
        outcomes.filter((outcome) => outcome.startsWith("0")),
        ["0 paused", "0 retried", "0 done", "0 done"],
      );
      assert.deepEqual(tries, [0, 0, 1, 2]);
      assert.deepEqual(outcomes.filter((outcome) => !outcome.startsWith("0")).toSorted(), ["1 given_up", "2 given_up"]);
    });

    it("keep what they are told to for their next run, whatever becomes of this one, while they are still theirs", async () => {
      const seen: number[] = [];
      const { name, kind } = counting(async ({ payload: { number }, keep }) => {
        seen.push(number);
        if (seen.length > 2) return FINISH;
        await keep({ number: number + 10 });
        const kept = await lane();
        assert.equal(kept.leased_until, now + LEASE_MS);
        if (seen.length === 1) return { next: { do: "retry", inMs: 0 }, reason: "not yet" };
        throw new Error("planted");
      });
      const lane = () =>
        database.read.selectFrom("job_lanes").selectAll().where("lane", "=", name).executeTakeFirstOrThrow();
      const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
      await add(name, 1, { lane: name, payload: { number: 1, traceparent } });
      const worker = await start([kind]);
      await until(async () => (await jobOf(name)).attempts === 2);
      assert.deepEqual(JSON.parse((await jobOf(name)).payload), { number: 21, traceparent });
      now = (await jobOf(name)).run_at;
      await until(isOver(name));
      await worker.stop();
      assert.deepEqual(seen, [1, 11, 21]);
    });

    it("keep nothing once they are queued anew, or their lane is another's", async () => {
      const refused: string[] = [];
      for (const isLost of [false, true]) {
        let isFirst = true;
        const { name, kind } = counting(async ({ keep }) => {
          if (!isFirst) return FINISH;
          isFirst = false;
          if (isLost) {
            const another = { owner: "another", leased_until: now + LEASE_MS };
            await database.transact(undefined, (tx) =>
              tx.updateTable("job_lanes").set(another).where("lane", "=", name).execute(),
            );
          } else {
            await add(name, 1, { lane: name, key: name });
          }
          await keep({ number: 2 }).catch((error: Error) => refused.push(error.message));
          return FINISH;
        });
        await add(name, 1, { lane: name, key: name });
        const worker = await start([kind]);
        await until(() => refused.length === Number(isLost) + 1);
        if (isLost) assert.deepEqual(JSON.parse((await jobOf(name)).payload), { number: 1 });
        now += isLost ? LEASE_MS : 0;
        await until(isOver(name));
        await worker.stop();
      }
      assert.deepEqual(refused, Array(2).fill("the job is not ours any more"));
    });

    it("are stored in turn with what is decided in their organization, unless they have nothing to do with it", async () => {
      const scopes = new Map<string, (string | undefined)[]>();
      let running = "";
      const watched = Object.assign(Object.create(database) as Database, {
        read: database.read,
        transact: ((...given: Parameters<Database["transact"]>) => {
          const [scope] = given;
          scopes.set(running, [...(scopes.get(running) ?? []), scope]);
          return database.transact(...given);
        }) as Database["transact"],
      });
      const surroundings = { database: watched, clock, log: createLogger("silent") };
      const cases = [
        { concurrent: false, organizationId: "an organization", stored: "an organization" },
        { concurrent: true, organizationId: "an organization", stored: undefined },
        { concurrent: false, organizationId: null, stored: undefined },
      ];
      for (const { concurrent, organizationId, stored } of cases) {
        const { name, kind } = counting(
          () => {
            running = name;
            return FINISH;
          },
          { concurrent },
        );
        await add(name, 1, { lane: name, organizationId });
        const worker = await start([kind], { surroundings });
        await until(isOver(name));
        running = "";
        await worker.stop();
        assert.equal(scopes.get(name)?.[0], stored);
      }
    });

    it("whose outcome the database does not take let their lane rest, and run again after it", async () => {
      const { name, kind, ran } = counting();
      await add(name, 1, { lane: name });
      let fails = 1;
      const failing = Object.assign(Object.create(database) as Database, {
        read: database.read,
        transact: ((...given: Parameters<Database["transact"]>) => {
          if (ran.length > 0 && fails-- > 0) return Promise.reject(new Error("the disk is full"));
          return database.transact(...given);
        }) as Database["transact"],
      });
      const log = createLogger("debug", { write: (line: string) => void logged.push(line) });
      const worker = await start([kind], { surroundings: { database: failing, clock, log } });
      const lane = () =>
        database.read.selectFrom("job_lanes").selectAll().where("lane", "=", name).executeTakeFirstOrThrow();
      await until(
        async () => ran.length > 0 && (await lane()).leased_until !== now + LEASE_MS,
        "the lane to be given back",
      );
      assert.equal((await lane()).leased_until, now + 2000);
      assert.ok(
        logged.some((line) => line.includes("a lane of jobs was interrupted") && line.includes("disk is full")),
      );
      now += 2000;
      await until(isOver(name));
      await worker.stop();
      assert.deepEqual(ran, [1, 1]);
    });

    it("that never end do not keep a worker from stopping", async () => {
      const { name, kind, ran } = counting(() => new Promise(() => undefined));
      await add(name, 1, { lane: "never" });
      const worker = await start([kind], { stopDeadlineMs: 50 });
      await until(() => ran.length === 1);
      await Promise.all([worker.stop(), worker.stop()]);
      assert.ok(logged.some((line) => line.includes("still running at the deadline")));
    });

    it("of the same key are the same job, and one queued anew while it runs runs again", async () => {
      const held = barrier();
      const { name, kind, ran } = counting(async () => {
        if (ran.length === 1) await held.promise;
        return FINISH;
      });
      const key = newId();
      await add(name, 1, { lane: "keyed", key });
      await add(name, 1, { lane: "keyed", key });
      const worker = await start([kind]);
      await until(() => ran.length === 1);
      now += 1;
      await add(name, 1, { lane: "keyed", key });
      held.resolve();
      await until(isOver(name));
      await worker.stop();
      assert.deepEqual(ran, [1, 1]);
    });

    it("whose outcome cannot be stored have failed, and are not repeated at once", async () => {
      const { name, kind, ran } = counting(() => ({
        ...FINISH,
        record: async (tx) => {
          await tx
            .insertInto("job_lanes")
            .values({ lane: "unrecordable", gate: "g", leased_until: 0, owner: "" })
            .execute();
        },
      }));
      await add(name, 1, { lane: "unrecordable" });
      const worker = await start([kind]);
      await until(async () => (await jobOf(name)).attempts === 1);
      worker.wake();
      await worker.stop();
      assert.deepEqual(ran, [1]);
      assert.ok((await jobOf(name)).run_at > now);
    });

    it("may let their lane rest, and stay as they were", async () => {
      const { name, kind, ran } = counting(() => (ran.length === 1 ? { next: { do: "pause", inMs: 5000 } } : FINISH));
      for (const number of [1, 2]) await add(name, number, { lane: "resting" });
      const before = await jobsOf(name);
      const worker = await start([kind]);
      const lane = () =>
        database.read.selectFrom("job_lanes").selectAll().where("lane", "=", "resting").executeTakeFirstOrThrow();
      await until(async () => (await lane()).leased_until === now + 5000);
      assert.deepEqual(await jobsOf(name), before);
      now += 5000;
      await until(isOver(name));
      await worker.stop();
      assert.deepEqual(ran, [1, 1, 2]);
    });

    it("with a payload of another shape are dead at once", async () => {
      const { name, kind, ran } = counting();
      await add(name, 1, { lane: "shape", payload: { number: "one" } });
      const worker = await start([kind]);
      await until(async () => (await jobOf(name)).state === "dead");
      await worker.stop();
      assert.deepEqual(ran, []);
      assert.match((await jobOf(name)).last_error as string, /payload/);
    });

    const lanesLike = async (prefix: string) => {
      const lanes = await database.read.selectFrom("job_lanes").select("lane").execute();
      return lanes.map(({ lane }) => lane).filter((lane) => lane.startsWith(prefix));
    };
    const prune = () => pruneJobLanes.run({ database, clock } as never);

    it("keep their lanes, which go when they are empty and come back with the next job", async () => {
      const { name, kind, ran } = counting();
      await add(name, 1, { lane: "kept-with", runAt: now + 1000 });
      await add(name, 2, { lane: "kept-without" });
      const worker = await start([kind]);
      await until(async () => (await jobsOf(name)).length === 1);
      await worker.stop();
      assert.equal((await lanesLike("kept-")).length, 2);
      await prune();
      assert.deepEqual(await lanesLike("kept-"), ["kept-with"]);
      await add(name, 3, { lane: "kept-without", runAt: now + 1000 });
      now += 1000;
      const next = await start([kind]);
      await until(isOver(name));
      await next.stop();
      assert.deepEqual(ran.toSorted(), [1, 2, 3]);
    });

    itOnPostgres("that are just being added keep their lane from going", async () => {
      const { name, kind } = counting();
      await database.transact(undefined, async (tx) => {
        await enqueue(tx, {
          kind: name,
          payload: {},
          lane: "racing",
          gate: "g",
          organizationId: null,
          runAt: now,
          now,
        });
        await dropJobs(tx, "racing", "organization");
      });
      const held = barrier();
      const added = barrier();
      const given = { payload: { number: 1 }, lane: "racing", gate: "g", organizationId: null, runAt: now, now };
      const adding = database.transact("organization", async (tx) => {
        await enqueue(tx, { kind: name, ...given });
        added.resolve();
        await held.promise;
      });
      await added.promise;
      const pruned = prune();
      const isWaiting = "select 1 from pg_locks where not granted and relation = 'job_lanes'::regclass";
      await until(async () => (await database.read.all({ sql: isWaiting, parameters: [] })).length > 0);
      held.resolve();
      await adding;
      await pruned;
      assert.deepEqual(await lanesLike("racing"), ["racing"]);
      const worker = await start([kind]);
      await until(isOver(name));
      await worker.stop();
    });
  });
}
