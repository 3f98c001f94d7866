import assert from "node:assert/strict";
import { it } from "node:test";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import fc from "fast-check";
import { open, seal } from "./ecies.ts";
import { isScalar, pointOf } from "./group.ts";
import { claimDigest, leafDigest, transferDigest } from "./messages.ts";
import { withShares } from "./shares.ts";

/** Properties of Spark's secrets, envelopes and hashes that hold for all inputs. */

const { Fn } = secp256k1.Point;
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const secret = bytes(32).filter(isScalar);
const digests = { transferDigest, claimDigest };

it("a secret comes back from every choice of as many shares as the threshold has", () => {
  const set = fc
    .integer({ min: 2, max: 10 })
    .chain((count) =>
      fc
        .tuple(fc.integer({ min: 2, max: count }), fc.shuffledSubarray(Array.from({ length: count }, (_, at) => at)))
        .map(([threshold, order]) => ({ count, threshold, order })),
    )
    .filter(({ threshold, order }) => order.length >= threshold);
  fc.assert(
    fc.property(secret, set, (shared, { count, threshold, order }) => {
      const chosen = order.slice(0, threshold);
      const sum = withShares(shared, { threshold, count }, ({ shares }) =>
        chosen.reduce((total, at) => {
          const factor = chosen.reduce(
            (product, other) =>
              other === at
                ? product
                : Fn.mul(product, Fn.div(BigInt(other + 1), Fn.sub(BigInt(other + 1), BigInt(at + 1)))),
            1n,
          );
          return Fn.add(total, Fn.mul(factor, Fn.fromBytes(shares[at] as Uint8Array)));
        }, 0n),
      );
      assert.equal(sum, Fn.fromBytes(shared));
    }),
    { numRuns: 60 },
  );
});

it("an envelope opens to what was put into it, and with any one byte changed to nothing", () => {
  fc.assert(
    fc.property(secret, fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 1, max: 255 }), (key, text, change) => {
      const envelope = seal(pointOf(key), text);
      assert.deepEqual(open(key, envelope), Buffer.from(text));
      for (const at of envelope.keys()) {
        const changed = Buffer.from(envelope);
        changed[at] = (changed[at] as number) ^ change;
        assert.equal(open(key, changed), undefined, `byte ${at}`);
      }
    }),
    { numRuns: 10 },
  );
});

it("what is signed of packages hangs on each byte of them, on whose they are, and not on their order", () => {
  const packages = fc.uniqueArray(
    fc.tuple(fc.string({ minLength: 1, maxLength: 70 }), fc.uint8Array({ maxLength: 60 })),
    {
      minLength: 1,
      maxLength: 5,
      selector: ([id]) => id,
    },
  );
  fc.assert(
    fc.property(fc.constantFrom(...Object.values(digests)), fc.uuid(), packages, (digest, transferId, all) => {
      const of = (those: typeof all, id = transferId): string => digest(id, those).toString("hex");
      const seen = new Set([of(all)]);
      assert.equal(of(all.toReversed()), of(all));
      let count = 1;
      const addOther = (those: typeof all): void => {
        seen.add(of(those));
        count++;
      };
      for (const [place, [id, body]] of all.entries()) {
        for (const at of body.keys()) addOther(all.with(place, [id, body.with(at, (body[at] as number) ^ 1)]));
        addOther(all.with(place, [id, Uint8Array.of(...body, 0)]));
        addOther(all.toSpliced(place, 1));
      }
      assert.equal(seen.size, count, "each is another");
      const another = transferId.replace(/^./, (digit) => (digit === "0" ? "1" : "0"));
      assert.ok(!seen.has(of(all, another)));
    }),
    { numRuns: 60 },
  );
});

it("a transfer's hash is never a claim's, and a leaf's hangs on both identifiers and the secret", () => {
  fc.assert(
    fc.property(fc.uuid(), fc.uuid(), bytes(129), fc.nat(128), (leafId, transferId, cipher, at) => {
      assert.notDeepEqual(transferDigest(transferId, [["1", cipher]]), claimDigest(transferId, [["1", cipher]]));
      const changed = cipher.with(at, (cipher[at] as number) ^ 128);
      assert.notDeepEqual(leafDigest(leafId, transferId, changed), leafDigest(leafId, transferId, cipher));
      fc.pre(leafId !== transferId);
      assert.notDeepEqual(leafDigest(transferId, leafId, cipher), leafDigest(leafId, transferId, cipher));
    }),
  );
});
