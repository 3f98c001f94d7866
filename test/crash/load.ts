import type { Json } from "../support/client.ts";
import { addUser, type Client } from "../support/client.ts";
import type { SeededRandom } from "../support/random.ts";

/** Stamped requests of several kinds, sent by several senders at once, and a book of what was asked and answered. */

export interface Sent {
  path: string;
  body: string;
  parameters: Json;
  /** The activity of a 200 answer; undefined when none came. */
  acknowledged?: Json;
}

/** What the load acts on; each sender renames a user of its own, so that its renames have an order. */
export interface Subjects {
  userIds: string[];
  signingKey: { privateKeyId: string; address: string };
}

export const SENDERS = 8;
/** Of the kinds that are limited in number, each round may ask this often. */
const TAGS_A_ROUND = 12;
const KEYS_A_ROUND = 60;

export async function createSubjects(root: Client): Promise<Subjects> {
  const users = await Promise.all(Array.from({ length: SENDERS }, (_, sender) => addUser(root, `sender ${sender}`)));
  const params = {
    privateKeyName: "signing key",
    curve: "CURVE_SECP256K1",
    privateKeyTags: [],
    addressFormats: ["ADDRESS_FORMAT_ETHEREUM"],
  };
  const { privateKeys } = await root.result("create_private_keys", { privateKeys: [params] });
  const [{ privateKeyId, addresses }] = privateKeys;
  return { userIds: users.map(({ userId }) => userId), signingKey: { privateKeyId, address: addresses[0].address } };
}

export interface Load {
  /** In the order of sending. */
  sent: Sent[];
  acknowledgedCount: () => number;
  /** Resolves when every sender has met a request without an answer. */
  ended: Promise<void>;
}

export function startLoad(root: Client, subjects: Subjects, random: SeededRandom, round: number): Load {
  const sent: Sent[] = [];
  let acknowledged = 0;
  const left = { tags: TAGS_A_ROUND, keys: KEYS_A_ROUND };

  async function sender(index: number): Promise<void> {
    for (let count = 0; ; count++) {
      const [path, parameters] = nextRequest(subjects, random, left, index, `${round}-${index}-${count}`);
      const body = root.submitBody(path, parameters);
      const one: Sent = { path, body, parameters };
      sent.push(one);
      try {
        const answer = await root.post(`/public/v1/submit/${path}`, body);
        if (answer.status !== 200) throw new UnexpectedAnswer(`${path}: ${JSON.stringify(answer.body)}`);
        one.acknowledged = answer.body.activity;
        acknowledged++;
      } catch (error) {
        if (error instanceof UnexpectedAnswer) throw error;
        return;
      }
    }
  }

  const ended = Promise.all(Array.from({ length: SENDERS }, (_, index) => sender(index))).then(() => {});
  ended.catch(() => {});
  return { sent, acknowledgedCount: () => acknowledged, ended };
}

class UnexpectedAnswer extends Error {}

function nextRequest(
  { userIds, signingKey }: Subjects,
  random: SeededRandom,
  left: { tags: number; keys: number },
  sender: number,
  name: string,
): [path: string, parameters: Json] {
  const rename = { userId: userIds[sender], userName: `renamed ${name}` };
  switch (random.integer(0, 9)) {
    case 0:
      if (left.tags-- <= 0) return ["update_user_name", rename];
      return random.pick([
        ["create_user_tag", { userTagName: name, userIds }],
        ["create_private_key_tag", { privateKeyTagName: name, privateKeyIds: [signingKey.privateKeyId] }],
      ]);
    case 1:
    case 2:
      if (left.keys-- <= 0) return ["update_user_name", rename];
      return ["create_private_keys", { privateKeys: ["a", "b"].map((part) => keyParams(`${name} ${part}`, random)) }];
    case 3:
    case 4:
    case 5:
      return ["sign_raw_payload", signingOf(signingKey.address, name)];
    default:
      return ["update_user_name", rename];
  }
}

const keyParams = (privateKeyName: string, random: SeededRandom): object => ({
  privateKeyName,
  ...random.pick([
    { curve: "CURVE_SECP256K1", addressFormats: ["ADDRESS_FORMAT_ETHEREUM", "ADDRESS_FORMAT_COMPRESSED"] },
    { curve: "CURVE_ED25519", addressFormats: ["ADDRESS_FORMAT_SOLANA"] },
    { curve: "CURVE_P256", addressFormats: [] },
  ]),
  privateKeyTags: [],
});

const signingOf = (signWith: string, payload: string): object => ({
  signWith,
  payload,
  encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
  hashFunction: "HASH_FUNCTION_SHA256",
});
