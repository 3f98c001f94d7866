import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { schnorr, secp256k1 } from "@noble/curves/secp256k1.js";
import { assertPayloads, assertShare } from "../../../test/support/spark-cases.ts";
import { deriveSecret } from "../hd-keys.ts";
import { parsePath } from "../hd-path.ts";
import { mnemonicSeed } from "../mnemonics.ts";
import { secp256k1 as native } from "../secp256k1.ts";
import { open, seal } from "./ecies.ts";
import { type FrostSigning, frostShare, SoleSigner, shareWith, USER_ID } from "./frost.ts";
import { hashToScalar, negated, pointOf, pointSum, smallScalar } from "./group.ts";
import { leafIndex, type SparkDerivation, sparkAccount, sparkPath } from "./keys.ts";
import { leafTweakEntry } from "./messages.ts";
import { randomScalar, withShares } from "./shares.ts";

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../test/vectors/spark/${name}.json`, import.meta.url), "utf8"));
const bytes = (hex: string) => Buffer.from(hex, "hex");
const hex = (some: Uint8Array) => Buffer.from(some).toString("hex");
const sha256 = (some: string | Uint8Array) => createHash("sha256").update(some).digest();
const published = read("published");
const seed = mnemonicSeed(Buffer.from(published.mnemonic), new Uint8Array());
const secretAt = (path: string) => deriveSecret("CURVE_SECP256K1", seed, parsePath(path));
const multiple = (factor: number) => pointOf(smallScalar(factor));
const { Fn } = secp256k1.Point;
const scalar = (some: Uint8Array) => Fn.fromBytes(some);

describe("keys of a Spark wallet", () => {
  it("are those of the published vectors", () => {
    for (const { derivation, path, publicKey } of published.publicKeys) {
      assert.equal(sparkPath("0", derivation), path);
      assert.equal(hex(pointOf(secretAt(path))), publicKey);
    }
    assert.equal(sparkPath("7", { htlcPreimage: {} }), "m/8797555'/7'/4'");
  });

  it("hang on the exact text of a leaf's identifier, and on nothing but identity paths", () => {
    const id = published.frost.leafId;
    assert.notEqual(leafIndex(id), leafIndex(id.toUpperCase()));
    assert.equal(sparkAccount("m/8797555'/12'/0'"), "12");
    for (const path of ["m/8797555'/0'", "m/8797555'/0/0'", "m/8797555'/0'/1'", "m/44'/0'/0'", "m/8797555'/00'/0'"]) {
      assert.equal(sparkAccount(path), undefined, path);
    }
    assert.throws(() => sparkPath("0", {}), RangeError);
    assert.throws(() => sparkPath("0", { identity: {}, deposit: {} }), RangeError);
    // As JSON may contain it: a null member names no key, and must not name another one.
    const none = { identity: null } as unknown as SparkDerivation;
    assert.throws(() => sparkPath("0", none), RangeError);
    const deposit = { ...none, deposit: {} } as unknown as SparkDerivation;
    assert.equal(sparkPath("0", deposit), "m/8797555'/0'/2'");
  });
});

describe("shares of FROST signatures", () => {
  it("are those of the published vectors", () => {
    const { leafId, group, messageOf, operators, nonces, adaptor, share, shareWithAdaptor } = published.frost;
    const secret = secretAt(sparkPath("0", { signingLeaf: { leafId } }));
    const signing: FrostSigning = {
      message: sha256(messageOf),
      verifyingKey: pointSum([pointOf(secret), multiple(group)]),
      commitments: operators.map(([id, hiding, binding]: [number, number, number]) => ({
        id: smallScalar(id),
        hiding: multiple(hiding),
        binding: multiple(binding),
      })),
    };
    const [hiding, binding] = nonces.map(smallScalar);
    assert.equal(hex(USER_ID), published.userId);
    assert.equal(hex(shareWith(secret, { hiding, binding }, signing).share), share);
    const adapted = { ...signing, adaptor: multiple(adaptor) };
    assert.equal(hex(shareWith(secret, { hiding, binding }, adapted).share), shareWithAdaptor);
  });

  it("are those of the published WebAssembly, for every parity of the keys and with and without adaptor", () => {
    const { cases } = read("frost");
    assert.ok(cases.length > 300);
    const kinds = new Set<string>();
    for (const one of cases) {
      assertShare(one);
      // The parities of V, Q and R determine whether the secret and the nonces enter with a negative sign.
      const V = secp256k1.Point.fromHex(one.verifyingKey);
      const tweak = Fn.create(BigInt(`0x${hex(schnorr.utils.taggedHash("TapTweak", schnorr.utils.pointToBytes(V)))}`));
      const even = schnorr.utils.lift_x(V.x);
      const Q = even.add(schnorr.Point.BASE.multiply(tweak));
      kinds.add(`${V.y % 2n} ${Q.y % 2n} ${one.adaptorPublicKey !== undefined}`);
    }
    assert.equal(kinds.size, 8);
  });

  it("add up to a signature with the shares of operators, whose nonces never repeat", () => {
    const seen = new Set<string>();
    for (let run = 0; run < 64; run++) {
      const withAdaptor = run % 2 === 1;
      const [user, group, adaptorSecret] = [randomScalar(), randomScalar(), randomScalar()];
      const operator = { id: smallScalar(1), hiding: randomScalar(), binding: randomScalar() };
      const message = sha256(`message ${run}`);
      const verifyingKey = pointSum([pointOf(user), pointOf(group)]);
      const commitment = { id: operator.id, hiding: pointOf(operator.hiding), binding: pointOf(operator.binding) };
      const adaptor = pointOf(adaptorSecret);
      const signing = { message, verifyingKey, commitments: [commitment], ...(withAdaptor ? { adaptor } : {}) };
      const own = frostShare(user, signing);
      assert.ok(!seen.has(hex(own.hiding)) && !seen.has(hex(own.binding)));
      seen.add(hex(own.hiding)).add(hex(own.binding));
      const { signature, output } = operatorSide(signing, operator, group, own);
      if (!withAdaptor) {
        assert.ok(schnorr.verify(signature, message, output));
        continue;
      }
      assert.ok(!schnorr.verify(signature, message, output));
      const s = scalar(signature.subarray(32));
      const completed = [Fn.add(s, scalar(adaptorSecret)), Fn.sub(s, scalar(adaptorSecret))].filter((s) =>
        schnorr.verify(Buffer.concat([signature.subarray(0, 32), Fn.toBytes(s)]), message, output),
      );
      assert.equal(completed.length, 1);
    }
  });

  it("are not made for the user's own key, of which they would be all of a signature", () => {
    for (let run = 0; run < 16; run++) {
      const [user, adaptor] = [randomScalar(), multiple(7)];
      const own = pointOf(user);
      const commitments = [{ id: smallScalar(1), hiding: multiple(3), binding: multiple(4) }];
      for (const verifyingKey of [own, negated(own)]) {
        const signing = { message: sha256(`own ${run}`), verifyingKey, commitments };
        assert.throws(() => frostShare(user, signing), SoleSigner);
        assert.throws(() => frostShare(user, { ...signing, adaptor }), SoleSigner);
      }
    }
  });

  it("of one request twice are made with other nonces", () => {
    const [user, commitment] = [randomScalar(), { id: smallScalar(1), hiding: multiple(3), binding: multiple(4) }];
    const signing = { message: sha256("one"), verifyingKey: pointOf(randomScalar()), commitments: [commitment] };
    const commitments = Array.from({ length: 200 }, () => hex(frostShare(user, signing).hiding));
    assert.equal(new Set(commitments).size, 200);
  });
});

/** What a single operator contributes, by the published formulas and another library. */
function operatorSide(
  { message, verifyingKey, commitments, adaptor }: FrostSigning,
  operator: { id: Uint8Array; hiding: Uint8Array; binding: Uint8Array },
  group: Uint8Array,
  own: { share: Uint8Array; hiding: Uint8Array; binding: Uint8Array },
): { signature: Buffer; output: Uint8Array } {
  const { Point } = secp256k1;
  const context = "FROST-secp256k1-SHA256-TR-v1";
  const V = Point.fromBytes(verifyingKey);
  const { taggedHash, pointToBytes, lift_x } = schnorr.utils;
  const tweak = Fn.create(BigInt(`0x${hex(taggedHash("TapTweak", pointToBytes(V)))}`));
  const Q = lift_x(V.x).add(Point.BASE.multiply(tweak));
  const output = pointToBytes(Q);
  const all = [...commitments, { id: USER_ID, hiding: own.hiding, binding: own.binding }].sort((a, b) =>
    Buffer.compare(a.id, b.id),
  );
  const encoded = Buffer.concat(all.flatMap(({ id, hiding, binding }) => [id, hiding, binding]));
  const h = (tag: string, some: Uint8Array) => sha256(Buffer.concat([Buffer.from(context + tag), some]));
  const prefix = Buffer.concat([Uint8Array.of(2), output, h("msg", message), h("com", encoded)]);
  const factorOf = (id: Uint8Array) => scalar(hashToScalar(`${context}rho`, prefix, id));
  let R = Point.ZERO;
  for (const { id, hiding, binding } of all) {
    R = R.add(Point.fromBytes(hiding)).add(Point.fromBytes(binding).multiply(factorOf(id)));
  }
  if (adaptor) R = R.add(Point.fromBytes(adaptor));
  const challenge = Fn.create(BigInt(`0x${hex(taggedHash("BIP0340/challenge", pointToBytes(R), output, message))}`));
  const sign = (negative: boolean, value: bigint) => (negative ? Fn.neg(value) : value);
  const key = sign(Q.y % 2n === 1n, Fn.add(sign(V.y % 2n === 1n, scalar(group)), tweak));
  const odd = R.y % 2n === 1n;
  const nonce = Fn.add(
    sign(odd, scalar(operator.hiding)),
    Fn.mul(factorOf(operator.id), sign(odd, scalar(operator.binding))),
  );
  const s = Fn.add(scalar(own.share), Fn.add(nonce, Fn.mul(challenge, key)));
  return { signature: Buffer.concat([pointToBytes(R), Fn.toBytes(s)]), output };
}

describe("envelopes", () => {
  const { plaintext, secret, ephemeral, nonce, envelope } = published.ecies;
  it("are those of the published vector", () => {
    const made = seal(multiple(secret), Buffer.from(plaintext), {
      ephemeral: smallScalar(ephemeral),
      nonce: bytes(nonce),
    });
    assert.equal(hex(made), envelope);
    assert.equal(String(open(smallScalar(secret), made)), plaintext);
  });

  it("open for nobody else, and not where a bit was changed or cut off", () => {
    const whole = bytes(envelope);
    assert.equal(open(smallScalar(3), whole), undefined);
    for (let at = 0; at < whole.length; at++) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] as number) ^ 1;
      assert.equal(open(smallScalar(secret), changed), undefined, `byte ${at}`);
      assert.equal(open(smallScalar(secret), whole.subarray(0, at)), undefined, `${at} bytes`);
    }
  });
});

type Multiplied = (x: Uint8Array, y: Uint8Array) => Uint8Array;

it("an envelope leaves nothing behind of the point that its two sides share", (test) => {
  const seen: Uint8Array[] = [];
  const { ecdh } = native;
  test.mock.method(native, "ecdh", (...[other, secret, options = {}, output]: Parameters<typeof ecdh>) => {
    const { hashfn, xbuf, ybuf } = options as Record<"xbuf" | "ybuf", Uint8Array> & { hashfn: Multiplied };
    const watched: Multiplied = (x, y) => {
      const point = hashfn(x, y);
      assert.ok(point.some((byte) => byte !== 0));
      seen.push(x, y, point);
      return point;
    };
    const shared = ecdh(other, secret, { ...options, hashfn: watched }, output as Uint8Array);
    seen.push(xbuf, ybuf, shared);
    return shared;
  });
  const made = seal(multiple(5), Buffer.from("a secret"));
  assert.equal(String(open(smallScalar(5), made)), "a secret");
  assert.equal(seen.length, 12);
  for (const bytes of seen) assert.ok(bytes.every((byte) => byte === 0));
});

describe("shared secrets", () => {
  it("come back from any threshold of shares, and from no smaller number", () => {
    const secret = randomScalar();
    withShares(secret, { threshold: 3, count: 5 }, ({ shares, proofs, points }) => {
      assert.equal(hex(proofs[0] as Uint8Array), hex(pointOf(secret)));
      assert.deepEqual(
        points.map(hex),
        shares.map((share) => hex(pointOf(share))),
      );
      for (const subset of subsetsOf([1, 2, 3, 4, 5])) {
        const value = Fn.toBytes(interpolated(subset.map((x) => [x, shares[x - 1] as Uint8Array])));
        assert.equal(hex(value) === hex(secret), subset.length >= 3, subset.join());
      }
    });
  });
});

function subsetsOf<Item>(items: readonly Item[]): Item[][] {
  const [first, ...rest] = items;
  if (first === undefined) return [];
  const others = subsetsOf(rest);
  return [[first], ...others, ...others.map((subset) => [first, ...subset])];
}

function interpolated(shares: readonly (readonly [number, Uint8Array])[]): bigint {
  return shares.reduce((sum, [x, share]) => {
    const others = shares.filter(([other]) => other !== x);
    const weight = others.reduce((product, [other]) => {
      const factor = Fn.div(BigInt(other), Fn.sub(BigInt(other), BigInt(x)));
      return Fn.mul(product, factor);
    }, 1n);
    return Fn.add(sum, Fn.mul(weight, scalar(share)));
  }, 0n);
}

describe("messages of Spark", () => {
  it("hash as the published SDK hashes them", () => {
    for (const one of [published.payloads, ...read("payloads").cases]) {
      assertPayloads(one);
    }
  });

  it("leave empty fields out and count lengths in as many bytes as they take", () => {
    const point = multiple(2);
    const { before, after } = leafTweakEntry({ leafId: "leaf", proofs: [point], publicShares: [["a", point]] });
    assert.equal(hex(before), "0a75" + "0a046c656166" + "1245" + "0a20");
    assert.equal(hex(after), `1221${hex(point)}1a260a01611221${hex(point)}`);
    const long = leafTweakEntry({ leafId: "x".repeat(300), proofs: [], publicShares: [] });
    assert.equal(hex(long.before.subarray(0, 6)), "0ad3020aac02");
  });
});
