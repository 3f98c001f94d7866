import { callAuthProxy } from "../test/support/auth-proxy.ts";
import { apiKeyParams, Client, generateApiKey } from "../test/support/client.ts";
import { addSubOrganization } from "../test/support/world.ts";
import { cpuSeconds } from "./cpu.ts";
import { type MailSink, startMailSink } from "./mail-sink.ts";
import type { Product } from "./processes.ts";
import { type BenchHooks, type RoundOptions, startServer, warmUpSeconds } from "./rounds.ts";
import { median, percentile } from "./statistics.ts";

/**
 * People who sign up and in: a one-time code from its start to a session, its mail handed to a mail server here; a sign-up through the
 * auth proxy; a login by a stamp. The client shares the machine and is no lean one, so that the CPU of the server says more than
 * what comes to a second.
 */

const flowNames = ["otp_login", "signup_v2", "stamp_login"] as const;
type FlowName = (typeof flowNames)[number];

export interface SigninBenchResult {
  engine: string;
  flow: FlowName;
  /** Whole flows. */
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU milliseconds of server and signer per 1,000 flows. */
  cpuMs: number;
}

/** One person after the other; `worker` counts those who do so at the same time. */
type Flow = (worker: number) => Promise<void>;

/** Codes of a contact are bounded, so each is used once. */
const CONTACTS_OF_ONE_ORGANIZATION = 100;
/** For each second and round: more than one server of two cores does. */
const LOGINS_PER_SECOND = 150;

export async function benchSignin(options: RoundOptions, hooks: BenchHooks<SigninBenchResult>): Promise<void> {
  const mail = await startMailSink();
  hooks.onStart(() => mail.close());
  const settings = {
    KEYSTEAD_SMTP_URL: mail.url,
    KEYSTEAD_MAIL_FROM: "bench@example.com",
    KEYSTEAD_AUTH_PROXY_REQUESTS_PER_SECOND: "0",
  };
  for (const engine of options.engines) {
    const product = await startServer(engine, "signin", { ...options, settings }, hooks.onStart);
    const root = new Client(`http://127.0.0.1:${product.port}`, product.subject.organizationId, product.key);
    const makers: Record<FlowName, () => Promise<Flow>> = {
      otp_login: () => otpLogins(root, mail, options),
      signup_v2: () => signups(root),
      stamp_login: () => stampLogins(root, options),
    };
    for (const flow of flowNames) {
      const run = await makers[flow]();
      const rounds: Round[] = [];
      for (let round = 0; round < options.rounds; round++) rounds.push(await measure(run, product, options));
      const middle = (pick: (round: Round) => number) => Math.round(median(rounds.map(pick)) * 10) / 10;
      hooks.report({
        engine,
        flow,
        perSecond: middle(({ perSecond }) => perSecond),
        p50Ms: middle(({ p50Ms }) => p50Ms),
        p99Ms: middle(({ p99Ms }) => p99Ms),
        cpuMs: middle(({ cpuMs }) => cpuMs),
      });
    }
    await product.stop();
  }
  mail.close();
}

type Round = Omit<SigninBenchResult, "engine" | "flow">;

async function measure(flow: Flow, { pid }: Product, { seconds, connections }: RoundOptions): Promise<Round> {
  const warmUpEnds = performance.now() + warmUpSeconds(seconds) * 1000;
  const ends = warmUpEnds + seconds * 1000;
  const latenciesMs: number[] = [];
  let cpuBefore: number | undefined;
  const work = async (worker: number) => {
    // At least one is measured, however slow it is.
    while (performance.now() < ends || latenciesMs.length === 0) {
      const start = performance.now();
      if (start >= warmUpEnds) cpuBefore ??= cpuSeconds(pid);
      await flow(worker);
      if (start >= warmUpEnds) latenciesMs.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, worker) => work(worker)));
  const elapsed = (performance.now() - warmUpEnds) / 1000;
  const sorted = Float64Array.from(latenciesMs).sort();
  return {
    perSecond: sorted.length / elapsed,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    cpuMs: ((cpuSeconds(pid) - (cpuBefore ?? 0)) * 1e6) / sorted.length,
  };
}

async function otpLogins(root: Client, mail: MailSink, { seconds, rounds }: RoundOptions): Promise<Flow> {
  const wanted = Math.ceil((seconds + warmUpSeconds(seconds)) * rounds * LOGINS_PER_SECOND);
  const people: { contact: string; organizationId: string }[] = [];
  for (let group = 0; people.length < wanted; group++) {
    const contacts = Array.from({ length: CONTACTS_OF_ONE_ORGANIZATION }, (_, i) => `person-${group}-${i}@example.com`);
    const rootUsers = contacts.map((userEmail) => ({ userName: userEmail, userEmail, ...NOBODY }));
    const made = { subOrganizationName: `Group ${group}`, rootUsers, rootQuorumThreshold: 1 };
    const { subOrganizationId: organizationId } = await root.result("create_sub_organization", made);
    people.push(...contacts.map((contact) => ({ contact, organizationId })));
  }
  // Neighbours are in other organizations, as people are who sign in at the same time.
  people.sort((one, other) => (turned(one.contact) < turned(other.contact) ? -1 : 1));
  return async () => {
    const { contact, organizationId } = people.pop() ?? fail("every contact has been used; shorten the rounds");
    const code = mail.codeFor(contact);
    const init = { otpType: "OTP_TYPE_EMAIL", contact, appName: "Benchmark" };
    const { otpId } = await root.result("init_otp", init, { type: "ACTIVITY_TYPE_INIT_OTP_V2" });
    const guess = { otpId, otpCode: await code };
    const { verificationToken } = await root.result("verify_otp", guess, { type: "ACTIVITY_TYPE_VERIFY_OTP" });
    const login = { verificationToken, publicKey: generateApiKey().publicKey };
    await root.with({ organizationId }).result("otp_login", login, { type: "ACTIVITY_TYPE_OTP_LOGIN" });
  };
}

const turned = (text: string): string => [...text].reverse().join("");

async function signups(root: Client): Promise<Flow> {
  await root.result("enable_auth_proxy", {});
  const { configId } = await root.result("update_auth_proxy_config", {});
  return async () => {
    const person = { ...NOBODY, apiKeys: [apiKeyParams(generateApiKey())] };
    const headers = { "x-auth-proxy-config-id": configId };
    const { status, body } = await callAuthProxy(root.baseUrl, "signup_v2", person, headers);
    if (status !== 200) fail(`signup_v2 answered ${status}: ${JSON.stringify(body)}`);
  };
}

async function stampLogins(root: Client, { connections }: RoundOptions): Promise<Flow> {
  const members: Client[] = [];
  for (let worker = 0; worker < connections; worker++) members.push((await addSubOrganization(root)).client);
  return async (worker) => {
    await (members[worker] as Client).result("stamp_login", { publicKey: generateApiKey().publicKey });
  };
}

const NOBODY = { apiKeys: [], authenticators: [], oauthProviders: [] };

function fail(message: string): never {
  throw new Error(message);
}

/** One line, for programs or for people. */
export function lineOfSignin(result: SigninBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  const { engine, flow, perSecond, p50Ms, p99Ms, cpuMs } = result;
  return `${engine} ${flow} ${perSecond}/s; p50 ${p50Ms} ms, p99 ${p99Ms} ms; CPU per 1,000 ${cpuMs} ms`;
}
