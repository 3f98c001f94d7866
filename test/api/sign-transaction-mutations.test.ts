import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { base58 } from "@scure/base";
import { getTransactionDecoder } from "@solana/kit";
import { Transaction as EthersTransaction } from "ethers";
import { fromRlp, type Hex, keccak256, toRlp } from "viem";
import { deriveAddress } from "../../src/crypto/addresses.ts";
import { clientBundle } from "../support/bundles.ts";
import type { Client, Json } from "../support/client.ts";
import { assertErrorBody } from "../support/error-body.ts";
import { areLong } from "../support/long-tests.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { createWorld } from "../support/world.ts";

/** KEYSTEAD_LONG_TESTS=1 sends this many times more. */
const FACTOR = areLong ? 50 : 1;
const PER_CHAIN = 300 * FACTOR;
const AT_ONCE = 16;
const TYPES = ["ETHEREUM", "SOLANA", "TRON", "BITCOIN", "TEMPO"] as const;
type Type = (typeof TYPES)[number];

const SECRET = Buffer.from("d7420105d1d690713be2762f8600331f2ce0e073b29ebf14461996699b10e0c5", "hex");
const publicKey = Buffer.from(secp256k1.getPublicKey(SECRET, true));
const solanaKey = Buffer.from(ed25519.getPublicKey(SECRET));
const ethereumAddress = deriveAddress("ADDRESS_FORMAT_ETHEREUM", "CURVE_SECP256K1", publicKey);

const cases = (path: string): Json[] =>
  JSON.parse(readFileSync(new URL(`../vectors/${path}.json`, import.meta.url), "utf8")).cases;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const bytesOf = (text: string): Buffer => Buffer.from(text, "hex");

/** The vectors of a chain, made transactions of the one key where they name another. */
const corpus: Record<Type, () => Buffer[]> = {
  ETHEREUM: () => cases("evm-transactions/valid").map(({ unsigned }) => bytesOf(unsigned)),
  TEMPO: () => cases("tempo-transactions/valid").map(({ unsigned }) => bytesOf(unsigned)),
  BITCOIN: () => cases("bitcoin-psbt/signed").map(({ psbt }) => bytesOf(psbt)),
  SOLANA: () =>
    cases("solana-transactions/valid").map(({ transaction, signers: [signer] }) =>
      bytesOf(transaction.replaceAll(hex(base58.decode(signer)), hex(solanaKey))),
    ),
  TRON: () =>
    cases("tron-transactions/valid").map(({ rawData }) =>
      bytesOf(rawData.replace(/0a1541[0-9a-f]{40}/, `0a1541${ethereumAddress.slice(2).toLowerCase()}`)),
    ),
};

/** Each holds a signed transaction against the bytes that were sent, with parts that the service does not have. */
const oracles: Record<Type, (sent: Buffer, signed: Buffer) => void> = {
  ETHEREUM(sent, signed) {
    const transaction = EthersTransaction.from(`0x${hex(signed)}`);
    assert.equal(transaction.unsignedSerialized, `0x${hex(sent)}`);
    assert.equal(transaction.from, ethereumAddress);
  },
  TEMPO(sent, signed) {
    const fields = fromRlp(`0x${hex(signed.subarray(1))}`) as Hex[];
    const signature = bytesOf((fields.pop() as Hex).slice(2));
    assert.equal(hex(signed.subarray(0, 1)) + toRlp(fields).slice(2), hex(sent));
    assertRecovers(bytesOf(keccak256(sent).slice(2)), signature);
  },
  SOLANA(sent, signed) {
    const [before, after] = [sent, signed].map((wire) => getTransactionDecoder().decode(wire));
    assert.deepEqual(after?.messageBytes, before?.messageBytes);
    const signature = after?.signatures[base58.encode(solanaKey) as never] as unknown as Uint8Array;
    assert.ok(ed25519.verify(signature, Uint8Array.from(after?.messageBytes ?? []), solanaKey));
  },
  TRON(sent, signed) {
    assert.equal(hex(signed.subarray(-sent.length - 67, -67)), hex(sent));
    assertRecovers(createHash("sha256").update(sent).digest(), signed.subarray(-65));
  },
  BITCOIN(sent, signed) {
    const [before, after] = [psbtMaps(sent), psbtMaps(signed)];
    assert.equal(after.length, before.length);
    const added = after.flatMap((map, index) => {
      const known = before[index] ?? [];
      assert.deepEqual(
        map.filter((record) => known.includes(record)),
        known,
      );
      return map.filter((record) => !known.includes(record));
    });
    assert.ok(added.length > 0);
    for (const record of added) assert.match(record, new RegExp(`^(13|02${hex(publicKey)})=`));
  },
};

/** The records of each map of a PSBT (BIP-174), as hex of their key, `=` and their value; libraries read more into them. */
function psbtMaps(psbt: Buffer): string[][] {
  const maps: string[][] = [[]];
  for (let at = 5; at < psbt.length; ) {
    const take = () => {
      const first = psbt[at] as number;
      const width = { 253: 2, 254: 4 }[first] ?? 0;
      const length = width === 0 ? first : psbt.readUIntLE(at + 1, width);
      at += 1 + width + length;
      return hex(psbt.subarray(at - length, at));
    };
    const key = take();
    if (key === "") maps.push([]);
    else maps.at(-1)?.push(`${key}=${take()}`);
  }
  return maps;
}

/** One or several bytes changed, removed, added or put twice, anywhere. */
function mutated(bytes: Buffer, random: SeededRandom): Buffer {
  const from = random.integer(0, bytes.length - 1);
  const until = from + random.pick([1, 1, 1, 2, 20, 32, 100]);
  const [before, some, after] = [bytes.subarray(0, from), bytes.subarray(from, until), bytes.subarray(until)];
  const middle = random.pick<() => Uint8Array>([
    () => some.map((byte) => byte ^ random.pick([0x01, 0x80, 0xff, 0x10])),
    () => Buffer.alloc(some.length, random.pick([0x00, 0x7f, 0x80, 0xff])),
    () => Buffer.alloc(0),
    () => Buffer.concat([some, Buffer.of(random.integer(0, 255))]),
    () => Buffer.concat([some, some]),
  ]);
  return Buffer.concat([before, middle(), after]);
}

function assertRecovers(digest: Uint8Array, signature: Buffer) {
  const recovery = Buffer.of((signature[64] as number) % 27);
  const recovered = secp256k1.recoverPublicKey(Buffer.concat([recovery, signature.subarray(0, 64)]), digest, {
    prehash: false,
  });
  assert.equal(hex(recovered), hex(publicKey));
}

describe("sign_transaction of mutated transactions", () => {
  let server: TestServer;
  let root: Client;
  let secp256k1Key: string;
  let ed25519Key: string;
  before(async () => {
    server = await startTestServer("sqlite");
    const { client, userId } = (await createWorld(server)).root;
    root = client;
    const imported = async (curve: string, format: string): Promise<string> => {
      const { importBundle } = await root.result("init_import_private_key", { userId });
      const encryptedBundle = clientBundle(importBundle, SECRET);
      const params = { userId, privateKeyName: format, encryptedBundle, curve, addressFormats: [format] };
      return (await root.result("import_private_key", params)).addresses[0].address;
    };
    secp256k1Key = await imported("CURVE_SECP256K1", "ADDRESS_FORMAT_ETHEREUM");
    ed25519Key = await imported("CURVE_ED25519", "ADDRESS_FORMAT_SOLANA");
  });
  after(() => server.close());

  const sign = (type: Type, unsigned: Uint8Array) =>
    root.submit("sign_transaction", {
      signWith: type === "SOLANA" ? ed25519Key : secp256k1Key,
      type: `TRANSACTION_TYPE_${type}`,
      unsignedTransaction: hex(unsigned),
    });

  /** Resolves to whether it was signed, as what was sent; else the answer must say which field is wrong. */
  async function isSigned(type: Type, sent: Buffer): Promise<boolean> {
    const about = `${type} ${hex(sent)}`;
    const answer = await sign(type, sent);
    if (answer.status !== 200) {
      assertErrorBody(answer, about);
      assert.match(answer.body.message, /`parameters\.(unsignedTransaction|signWith)`/, about);
      return false;
    }
    const { signedTransaction } = answer.body.activity.result.signTransactionResult;
    try {
      oracles[type](sent, bytesOf(signedTransaction));
    } catch (error) {
      throw new Error(`${about} became ${signedTransaction}`, { cause: error });
    }
    return true;
  }

  async function outcomes(requests: readonly (readonly [Type, Buffer])[]) {
    const counts = { signed: 0, refused: 0 };
    for (let start = 0; start < requests.length; start += AT_ONCE) {
      const batch = requests.slice(start, start + AT_ONCE).map(([type, sent]) => isSigned(type, sent));
      for (const signed of await Promise.all(batch)) counts[signed ? "signed" : "refused"]++;
    }
    return counts;
  }

  for (const type of TYPES) {
    it(`${type}: whatever is signed is what was sent, and the rest is refused by name`, async () => {
      const whole = corpus[type]();
      const intact = await outcomes(whole.map((sent) => [type, sent] as const));
      assert.ok(intact.signed >= 10, JSON.stringify(intact));
      const random = seededRandom();
      const requests = Array.from({ length: PER_CHAIN }, () => {
        const sent = random.pick(whole);
        return [type, mutated(sent, random)] as const;
      });
      const counts = await outcomes(requests);
      assert.ok(counts.refused > 0.1 * PER_CHAIN, `seed ${random.seed}: ${JSON.stringify(counts)}`);
    });
  }

  it("a transaction of one chain is none of another", async () => {
    for (const of of TYPES) {
      const others = TYPES.filter((type) => type !== of);
      const requests = corpus[of]().flatMap((sent) => others.map((type) => [type, sent] as const));
      assert.equal((await outcomes(requests)).signed, 0, of);
    }
  });

  it("random bytes, long ones too, are none of any chain", async () => {
    const random = seededRandom();
    const requests = Array.from({ length: 50 * FACTOR }, () => {
      const length = random.pick([1, 2, 33, 300, 5000, 100_000]);
      const first = random.pick([0, 1, 2, 3, 4, 0x76, 0x70, 0x80, 0xc0, 0xf8, 0xff]);
      const sent = Buffer.from(Array.from({ length }, (_, index) => (index === 0 ? first : random.integer(0, 255))));
      return [random.pick(TYPES), sent] as const;
    });
    assert.equal((await outcomes(requests)).signed, 0, `seed ${random.seed}`);
  });
});
