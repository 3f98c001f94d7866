import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { type StampingKey, stamper } from "../../src/crypto/make-stamp.ts";
import type { SoftwareAuthenticator } from "./authenticator.ts";
import { post } from "./post.ts";

/** The JSON of an answer, loosely: tests look into it by hand. */
// biome-ignore lint/suspicious/noExplicitAny: a test asserts what it reads
export type Json = any;

export interface TestAnswer {
  status: number;
  headers: Pick<Headers, "get">;
  body: Json;
}

/** A passkey as a page of `origin` uses it. */
export interface Passkey {
  authenticator: SoftwareAuthenticator;
  origin: string;
  rpId: string;
}

/** The parameters that register a passkey. */
export function authenticatorParams({ authenticator, origin, rpId }: Passkey): object {
  const challenge = randomBytes(32);
  const attestation = authenticator.attest({ challenge, origin, rpId });
  return { authenticatorName: "passkey", challenge: challenge.toString("base64url"), attestation };
}

/** Stamps requests by hand, one header and one body at a time. */
export class Client {
  readonly baseUrl: string;
  readonly organizationId: string;
  readonly key: StampingKey;
  readonly stamp: (body: string | Uint8Array) => string;
  readonly passkey: Passkey | undefined;

  constructor(baseUrl: string, organizationId: string, key: StampingKey, passkey?: Passkey) {
    this.baseUrl = baseUrl;
    this.organizationId = organizationId;
    this.key = key;
    this.stamp = stamper(key);
    this.passkey = passkey;
  }

  /** The same client with another key, or for another organization. */
  with(change: { key?: StampingKey; organizationId?: string }): Client {
    return new Client(this.baseUrl, change.organizationId ?? this.organizationId, change.key ?? this.key, this.passkey);
  }

  /** The same client that stamps with a passkey in place of the key. */
  withPasskey(passkey: Passkey): Client {
    return new Client(this.baseUrl, this.organizationId, this.key, passkey);
  }

  /** Sends exactly this body, stamped, with more or other headers on top. */
  async post(path: string, body: string | Uint8Array, headers: Record<string, string> = {}): Promise<TestAnswer> {
    const given = { "content-type": "application/json", ...this.#stampHeader(body), ...headers };
    const { text, ...answer } = await post(`${this.baseUrl}${path}`, body, given);
    return { ...answer, body: text === "" ? undefined : JSON.parse(text) };
  }

  #stampHeader(body: string | Uint8Array): Record<string, string> {
    if (!this.passkey) return { "x-stamp": this.stamp(body) };
    const { authenticator, origin, rpId } = this.passkey;
    return { "x-stamp-webauthn": authenticator.assert({ body, origin, rpId }) };
  }

  /** The body of a submit request, as `submit` sends it. */
  submitBody(path: string, parameters: unknown, options: SubmitOptions = {}): string {
    return JSON.stringify({
      type: options.type ?? `ACTIVITY_TYPE_${(words[path] ?? path).toUpperCase()}${newestSuffix[path] ?? ""}`,
      timestampMs: options.timestampMs ?? uniqueTimestamp(),
      organizationId: this.organizationId,
      parameters,
      ...options.more,
    });
  }

  submit(path: string, parameters: unknown, options: SubmitOptions = {}): Promise<TestAnswer> {
    return this.post(`/public/v1/submit/${path}`, this.submitBody(path, parameters, options), options.headers);
  }

  query(path: string, fields: object = {}, headers: Record<string, string> = {}): Promise<TestAnswer> {
    const body = JSON.stringify({ organizationId: this.organizationId, ...fields });
    return this.post(`/public/v1/query/${path}`, body, headers);
  }

  /** Submits, expects a completed activity, and gives the one member of its result. */
  async result(path: string, parameters: unknown, options: SubmitOptions = {}): Promise<Json> {
    const body = this.submitBody(path, parameters, options);
    const answer = await inTime(() => this.post(`/public/v1/submit/${path}`, body, options.headers));
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.activity.status, "ACTIVITY_STATUS_COMPLETED");
    const members = Object.values(answer.body.activity.result);
    assert.equal(members.length, 1);
    return members[0];
  }

  /** The same of many at once, for as long as it takes. */
  async resultOfMany(path: string, parameters: unknown): Promise<Json> {
    const body = this.submitBody(path, parameters);
    const answer = await inTime(() => this.post(`/public/v1/submit/${path}`, body), Number.POSITIVE_INFINITY);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const [result] = Object.values(answer.body.activity.result);
    return result;
  }

  /** Queries and expects success. */
  async read(path: string, fields: object = {}): Promise<Json> {
    const answer = await inTime(() => this.query(path, fields));
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  }
}

const RAN_OUT_OF_TIME =
  /could not be completed within|too many requests are waiting for the database|did not answer: gave up after \d+ ms/;

/** What a busy machine could not do in time is sent again, as a client does; an activity is the same one then. */
export async function inTime(send: () => Promise<TestAnswer>, times = 8): Promise<TestAnswer> {
  for (let sent = 1; ; sent++) {
    const answer = await send();
    if (answer.status !== 503 || sent >= times || !RAN_OUT_OF_TIME.test(answer.body.message)) return answer;
  }
}

export interface SubmitOptions {
  type?: string;
  timestampMs?: string;
  headers?: Record<string, string>;
  /** Members beside the parameters. */
  more?: object;
}

/** What types derive from where that is not the path. */
const words: Record<string, string> = { set_tvc_app_live_deployment: "update_tvc_app_live_deployment" };

const newestSuffix: Record<string, string> = {
  create_users: "_V4",
  create_api_keys: "_V2",
  create_authenticators: "_V2",
  create_oauth_providers: "_V2",
  create_private_keys: "_V2",
  sign_raw_payload: "_V2",
  sign_transaction: "_V2",
  create_sub_organization: "_V8",
  create_policy: "_V3",
  create_read_write_session: "_V2",
  email_auth: "_V3",
  init_user_email_recovery: "_V2",
  init_otp: "_V3",
  init_otp_auth: "_V3",
  verify_otp: "_V2",
  otp_login: "_V2",
  update_policy: "_V2",
  sol_send_transaction: "_V2",
  eth_send_transaction: "_V2",
  execute_swap: "_V2",
};

let lastTimestamp = 0;
/** Equal requests are one activity; two that mean the same need different times. */
function uniqueTimestamp(): string {
  lastTimestamp = Math.max(lastTimestamp + 1, Date.now());
  return String(lastTimestamp);
}

/** A fresh P-256 key as API keys have it. */
export function generateApiKey(): StampingKey {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x, y, d } = privateKey.export({ format: "jwk" }) as { x: string; y: string; d: string };
  const isOdd = (Buffer.from(y, "base64url").at(-1) as number) % 2 === 1;
  return {
    publicKey: `${isOdd ? "03" : "02"}${Buffer.from(x, "base64url").toString("hex")}`,
    privateKey: Buffer.from(d, "base64url").toString("hex"),
  };
}

export const apiKeyParams = (key: StampingKey, more: object = {}): object => ({
  apiKeyName: "key",
  publicKey: key.publicKey,
  curveType: "API_KEY_CURVE_P256",
  ...more,
});

/** Adds a user who holds one lasting API key; resolves to the user's id and a client with that key. */
export async function addUser(root: Client, userName = "Plain user"): Promise<{ userId: string; client: Client }> {
  const key = generateApiKey();
  const user = { userName, apiKeys: [apiKeyParams(key)], authenticators: [], oauthProviders: [], userTags: [] };
  const { userIds } = await root.result("create_users", { users: [user] });
  return { userId: userIds[0], client: root.with({ key }) };
}
