import assert from "node:assert/strict";
import type { Database } from "../../src/storage/database.ts";
import type { Client, TestAnswer } from "../support/client.ts";
import type { ServerProcess } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** Requests that go on while the database does not, and what their answers must be. */

export interface Load {
  answers: { body: string; answer: TestAnswer }[];
  /** Sends no more and resolves when all are answered. */
  stop(): Promise<void>;
}

/** Keeps several stamped requests under way: writes of an organization, signatures, and reads. */
export function startLoad(root: Client, { userId, privateKeyId }: Subjects): Load {
  const answers: Load["answers"] = [];
  let stopped = false;
  const send = async (kind: number, count: number): Promise<void> => {
    if (kind === 0) {
      answers.push({ body: "", answer: await root.query("list_users") });
      return;
    }
    const [path, parameters] =
      kind === 1
        ? ["update_user_name", { userId, userName: `name ${count}` }]
        : ["sign_raw_payload", { ...signing(privateKeyId), payload: `${kind} ${count}` }];
    const body = root.submitBody(path as string, parameters);
    answers.push({ body, answer: await root.post(`/public/v1/submit/${path}`, body) });
  };
  const senders = [0, 1, 1, 2, 3, 4].map(async (kind) => {
    for (let count = 0; !stopped; count++) await send(kind, count);
  });
  return {
    answers,
    stop: async () => {
      stopped = true;
      await Promise.all(senders);
    },
  };
}

const signing = (signWith: string) => ({
  signWith,
  payload: "payload",
  encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
  hashFunction: "HASH_FUNCTION_SHA256",
});

export const count = ({ answers }: Load, status: number): number =>
  answers.filter(({ answer }) => answer.status === status).length;

/** Every answer is a success or says that the database is away; every success is stored, once. */
export async function checkAnswers({ answers }: Load, store: Database): Promise<void> {
  for (const { answer } of answers) {
    if (answer.status === 200) continue;
    assert.equal(answer.status, 503, JSON.stringify(answer.body));
    assert.equal(answer.body.code, 14);
    assert.match(answer.body.message, /^the database is not available|^the request could not be completed within 15 s/);
  }
  const activities = await store.read.selectFrom("activities").select(["body", "id"]).execute();
  const stored = new Map(activities.map(({ body, id }) => [body, id]));
  assert.equal(stored.size, activities.length);
  for (const { body, answer } of answers) {
    if (body !== "" && answer.status === 200) assert.equal(stored.get(body), answer.body.activity.id);
  }
}

/** Who is renamed and what signs. */
export interface Subjects {
  userId: string;
  privateKeyId: string;
}

export async function createSubjects(root: Client): Promise<Subjects> {
  const { userId } = await root.read("whoami");
  const params = { privateKeyName: "key", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
  const { privateKeys } = await root.result("create_private_keys", { privateKeys: [params] });
  return { userId, privateKeyId: privateKeys[0].privateKeyId };
}

export interface Readyz {
  status: number;
  body: { status: string; database: string; signer: string; organization: string; reasons?: Record<string, string> };
}

export async function readyz({ baseUrl }: Pick<ServerProcess, "baseUrl">): Promise<Readyz> {
  const response = await fetch(`${baseUrl}/readyz`);
  return { status: response.status, body: (await response.json()) as Readyz["body"] };
}

/** What it says once the server is ready: a look at the database may take longer on a busy machine than `/readyz` waits for one. */
export async function whenReady(server: Pick<ServerProcess, "baseUrl">): Promise<Readyz["body"]> {
  let last: Readyz | undefined;
  await until(async () => {
    last = await readyz(server);
    return last.status === 200;
  }, "the server to be ready");
  return last?.body as Readyz["body"];
}
