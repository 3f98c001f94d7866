import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Arena, arenas } from "../support/arena.ts";
import { addUser, type Client, inTime } from "../support/client.ts";
import { areLong } from "../support/long-tests.ts";
import { until } from "../support/until.ts";

/** What is kept of who may do what, while it changes all the time: nobody is answered by a state older than their request. */

/** Of each kind. */
const CHANGES = 100;
const ANSWERS_BETWEEN = 10;
const READERS = 8;

/** The highest change of its kind that somebody has asked for, and the highest that a server has said is done. */
interface Progress {
  asked: number;
  done: number;
}

for (const [name, start] of Object.entries(arenas)) {
  // Two servers there meet what one does.
  if (name === "one server on PostgreSQL" && !areLong) continue;
  describe(`who asks while everything changes, and a server is killed: ${name}`, () => {
    it("is told of all that was done before they asked, and of nothing that nobody asked for", async () => {
      const arena = await start();
      try {
        await watchChanges(arena);
      } finally {
        await arena.close();
      }
    });
  });
}

async function watchChanges(arena: Arena): Promise<void> {
  const root = arena.client(0);
  const member = await addUser(root, "0");
  const { userId } = member;
  const named = ["even", "odd"].map((privateKeyName) => ({
    privateKeyName,
    curve: "CURVE_SECP256K1",
    privateKeyTags: [],
  }));
  const { privateKeys } = await root.result("create_private_keys", {
    privateKeys: named.map((key) => ({ ...key, addressFormats: [] })),
  });
  /** With each change the other key may be used, and this one no longer. */
  const allowing = (value: number): string =>
    `activity.action == 'SIGN' && private_key.id == '${privateKeys[value % 2].privateKeyId}'`;
  const { policyId } = await root.result("create_policy", {
    policyName: "One key",
    effect: "EFFECT_ALLOW",
    condition: allowing(0),
    consensus: `approvers.any(user, user.id == '${userId}')`,
    notes: "",
  });
  const names: Progress = { asked: 0, done: 0 };
  const rights: Progress = { asked: 0, done: 0 };
  /** Answers, but for those that a killed server did not give. */
  let [answered, signed, denied] = [0, 0, 0];
  let hasFailed = false;
  const isOver = () => hasFailed || (names.done === CHANGES && rights.done === CHANGES);

  async function change(progress: Progress, ask: (client: Client, value: number) => Promise<unknown>): Promise<void> {
    for (let value = 1; value <= CHANGES; value++) {
      progress.asked = value;
      // Whether a killed server had done it is not known; it is asked for once more, of another one where there is one.
      for (let turn = value; !hasFailed; turn++) {
        if (await unlessKilled(() => ask(arena.client(turn), value))) break;
      }
      progress.done = value;
      const answeredThen = answered;
      await until(() => answered >= answeredThen + ANSWERS_BETWEEN || isOver(), "answers between two changes");
    }
  }
  const writers = [
    change(names, (client, value) => client.result("update_user_name", { userId, userName: String(value) })),
    change(rights, (client, value) => client.result("update_policy", { policyId, policyCondition: allowing(value) })),
  ];

  async function readName(client: Client): Promise<void> {
    const { done } = names;
    const { user } = await client.read("get_user", { userId });
    assertBetween(Number(user.userName), done, names);
  }
  async function readOwnName(client: Client): Promise<void> {
    const { done } = names;
    const { username } = await client.with({ key: member.client.key }).read("whoami");
    assertBetween(Number(username), done, names);
  }
  /** While nobody changes it, one key may be used and the other may not. */
  async function sign(client: Client, ahead: number): Promise<void> {
    const { done } = rights;
    const request = {
      signWith: privateKeys[(done + ahead) % 2].privateKeyId,
      payload: "what is signed",
      encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
      hashFunction: "HASH_FUNCTION_SHA256",
    };
    const signer = client.with({ key: member.client.key });
    const { status, body } = await inTime(() => signer.submit("sign_raw_payload", request));
    const isAllowed = status === 200;
    if (!isAllowed) assert.equal(status, 403, JSON.stringify(body));
    if (rights.asked !== done) return;
    assert.equal(isAllowed, ahead === 0, `after ${done} changes: ${JSON.stringify(body)}`);
    if (isAllowed) signed++;
    else denied++;
  }
  const looks = [readName, (client: Client) => sign(client, 1), readOwnName, (client: Client) => sign(client, 0)];
  async function read(reader: number): Promise<void> {
    for (let turn = reader; !isOver(); turn++) {
      const look = looks[turn % looks.length] as (typeof looks)[number];
      if (await unlessKilled(() => look(arena.client(turn >> 2)))) answered++;
    }
  }
  async function kill(): Promise<void> {
    await until(() => names.done >= CHANGES / 2 || isOver(), "half of the changes");
    await arena.killOne();
  }
  const all = [...writers, kill(), ...Array.from({ length: READERS }, (_, reader) => read(reader))];
  const noteFailed = () => {
    hasFailed = true;
  };
  for (const each of all) each.catch(noteFailed);
  const failed = (await Promise.allSettled(all)).find(({ status }) => status === "rejected");
  if (failed) throw (failed as PromiseRejectedResult).reason;
  assert.ok(denied > 0 && signed > 0, `${denied} were denied, and ${signed} signed`);
}

function assertBetween(seen: number, done: number, { asked }: Progress): void {
  assert.ok(seen >= done, `${seen} was seen after ${done} was done`);
  assert.ok(seen <= asked, `${seen} was seen, and ${asked} was asked for`);
}

const GONE: ReadonlySet<string | undefined> = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE"]);

/** Whether it was answered; a connection to a server that was killed, or is not there yet, fails. */
async function unlessKilled(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    if (!GONE.has((error as NodeJS.ErrnoException).code)) throw error;
    await new Promise(setImmediate);
    return false;
  }
}
