import { createPrivateKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import secp256k1 from "secp256k1";
import { addUser, Client } from "../test/support/client.ts";
import { type Load, type Product, startLoad } from "./processes.ts";
import { type BenchHooks, measureRound, type Round, type RoundOptions, startServer } from "./rounds.ts";
import type { SigningName, Subject } from "./scenarios.ts";
import { median } from "./statistics.ts";
import { unsignedTransactions } from "./transactions.ts";

/**
 * What a stamped, policy-checked, durably stored signature costs beside the library call alone, and beside a durable write of
 * the same server. A user signs whom one policy lets. The three take turns.
 */

export interface SigningBenchResult {
  engine: string;
  scenario: SigningName;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU milliseconds of server and signer per 1,000 signatures. */
  cpuMs: number;
  /** Signatures relative to writes in the same round. */
  ofWrites: number;
  /** The library call in this process, on one core: CPU milliseconds per 1,000. */
  libraryCpuMs: number;
}

/** A kind of signature: the request is the scenario's; a further kind is a further entry here and one in scenarios.ts. */
interface Signing {
  scenario: SigningName;
  /** Makes what is signed with; resolves to how requests name it, and to what it signs if that is always the same. */
  prepare: (client: Client) => Promise<Pick<Subject, "privateKeyId" | "unsignedTransaction">>;
  /** The same signature by the library alone, on a key that is ready. */
  library: () => () => unknown;
}

const withPrivateKey =
  (curve: string) =>
  async (client: Client): Promise<{ privateKeyId: string }> => {
    const key = { privateKeyName: `Benchmark ${curve}`, curve, addressFormats: [], privateKeyTags: [] };
    const { privateKeys } = await client.result("create_private_keys", { privateKeys: [key] });
    return { privateKeyId: privateKeys[0].privateKeyId };
  };

/** With an account of a wallet, named by its address. */
const withTransaction =
  (unsigned: (publicKey: Buffer) => string, addressFormat: string, curve = "CURVE_SECP256K1") =>
  async (client: Client): Promise<{ privateKeyId: string; unsignedTransaction: string }> => {
    const account = { curve, pathFormat: "PATH_FORMAT_BIP32", path: "m/44'/0'/0'/0/0", addressFormat };
    const wallet = { walletName: `Benchmark ${addressFormat}`, accounts: [account] };
    const { walletId } = await client.result("create_wallet", wallet);
    const [{ address, publicKey }] = (await client.read("list_wallet_accounts", { walletId })).accounts;
    return { privateKeyId: address, unsignedTransaction: unsigned(Buffer.from(publicKey, "hex")) };
  };

function secp256k1Library(): () => unknown {
  const [secret, digest] = [randomBytes(32), randomBytes(32)];
  return () => secp256k1.ecdsaSign(digest, secret);
}

function ed25519Library(): () => unknown {
  const { privateKey } = generateKeyPairSync("ed25519");
  const key = createPrivateKey(privateKey.export({ format: "pem", type: "pkcs8" }));
  const message = randomBytes(32);
  return () => sign(null, message, key);
}

const { ethereum, solana, tron, bitcoin, tempo } = unsignedTransactions;

const signings: readonly Signing[] = [
  { scenario: "sign_secp256k1", prepare: withPrivateKey("CURVE_SECP256K1"), library: secp256k1Library },
  {
    scenario: "sign_p256",
    prepare: withPrivateKey("CURVE_P256"),
    library() {
      const [secret, digest] = [p256.utils.randomSecretKey(), randomBytes(32)];
      return () => p256.sign(digest, secret, { prehash: false, lowS: true });
    },
  },
  { scenario: "sign_ed25519", prepare: withPrivateKey("CURVE_ED25519"), library: ed25519Library },
  {
    scenario: "transaction_ethereum",
    prepare: withTransaction(ethereum, "ADDRESS_FORMAT_ETHEREUM"),
    library: secp256k1Library,
  },
  {
    scenario: "transaction_solana",
    prepare: withTransaction(solana, "ADDRESS_FORMAT_SOLANA", "CURVE_ED25519"),
    library: ed25519Library,
  },
  { scenario: "transaction_tron", prepare: withTransaction(tron, "ADDRESS_FORMAT_TRON"), library: secp256k1Library },
  {
    scenario: "transaction_bitcoin",
    prepare: withTransaction(bitcoin, "ADDRESS_FORMAT_BITCOIN_MAINNET_P2WPKH"),
    library: secp256k1Library,
  },
  {
    scenario: "transaction_tempo",
    prepare: withTransaction(tempo, "ADDRESS_FORMAT_ETHEREUM"),
    library: secp256k1Library,
  },
];

const LIBRARY_MS = 300;

export async function benchSigning(options: RoundOptions, hooks: BenchHooks<SigningBenchResult>): Promise<void> {
  for (const engine of options.engines) {
    const product = await startServer(engine, "signing", options, hooks.onStart);
    const root = new Client(`http://127.0.0.1:${product.port}`, product.subject.organizationId, product.key);
    const key = await addSigner(root);
    for (const signing of signings) {
      const subject = { ...product.subject, ...(await signing.prepare(root)) };
      const { connections } = options;
      const load = startLoad({ scenario: signing.scenario, parties: [{ subject, key }], connections });
      const writes = startLoad({ scenario: "write", parties: [{ subject, key: product.key }], connections });
      for (const each of [load, writes]) hooks.onStart(() => each.stop());
      hooks.report({ engine, ...(await measureSigning(signing, { load, writes }, product, options)) });
      await Promise.all([load.stop(), writes.stop()]);
    }
    await product.stop();
  }
}

/** A user whom the one policy lets sign; resolves to the key. */
async function addSigner(root: Client): Promise<Client["key"]> {
  const { userId, client } = await addUser(root, "Signer");
  await root.result("create_policy", {
    policyName: "Signer",
    effect: "EFFECT_ALLOW",
    consensus: `approvers.any(user, user.id == '${userId}')`,
    condition: "activity.action == 'SIGN'",
    notes: "",
  });
  return client.key;
}

async function measureSigning(
  { scenario, library }: Signing,
  { load, writes }: { load: Load; writes: Load },
  product: Product,
  options: RoundOptions,
): Promise<Omit<SigningBenchResult, "engine">> {
  const call = library();
  const rounds: { libraryCpuMs: number; signed: Round; ofWrites: number }[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const libraryCpuMs = measureLibrary(call);
    const written = await measureRound(writes, product, options);
    const signed = await measureRound(load, product, options);
    rounds.push({ libraryCpuMs, signed, ofWrites: signed.perSecond / written.perSecond });
  }
  const middle = (pick: (round: (typeof rounds)[number]) => number, digits: number) =>
    Number(median(rounds.map(pick)).toFixed(digits));
  return {
    scenario,
    perSecond: middle(({ signed }) => signed.perSecond, 0),
    p50Ms: middle(({ signed }) => signed.p50Ms, 1),
    p99Ms: middle(({ signed }) => signed.p99Ms, 1),
    cpuMs: middle(({ signed }) => signed.cpuMs, 0),
    ofWrites: middle(({ ofWrites }) => ofWrites, 2),
    libraryCpuMs: middle((round) => round.libraryCpuMs, 0),
  };
}

/** CPU milliseconds per 1,000 calls. */
function measureLibrary(call: () => unknown): number {
  for (let warm = 0; warm < 50; warm++) call();
  const before = process.cpuUsage();
  const end = performance.now() + LIBRARY_MS;
  let calls = 0;
  for (; performance.now() < end; calls++) call();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

/** One line, for programs or for people. */
export function lineOfSigning(result: SigningBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  const { engine, scenario, perSecond, ofWrites, p50Ms, p99Ms, cpuMs, libraryCpuMs } = result;
  const cpu = `CPU per 1,000 ${cpuMs} ms, the library's ${libraryCpuMs} ms`;
  return `${engine} ${scenario} ${perSecond}/s (x${ofWrites} of writes); p50 ${p50Ms} ms, p99 ${p99Ms} ms; ${cpu}`;
}
