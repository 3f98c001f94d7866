import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import {
  getClaimPackageSigningPayload,
  getSparkFrost,
  getTransferPackageSigningPayload,
} from "@buildonspark/spark-sdk";
import { secp256k1 } from "@noble/curves/secp256k1";

/** Shares for given nonces, and hashes of packages, of inputs that a counter makes. */

const CASES_OF_EACH_KIND = 12;

let counter = 0;
const draw = (): Buffer => createHash("sha256").update(`keystead spark vectors ${counter++}`).digest();
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const publicKeyOf = (secret: Uint8Array): Uint8Array => secp256k1.getPublicKey(secret, true);
const sum = (...points: Uint8Array[]): Uint8Array =>
  points
    .map((point) => secp256k1.Point.fromHex(hex(point)))
    .reduce((a, b) => a.add(b))
    .toBytes(true);
const commitment = () => ({ hiding: publicKeyOf(draw()), binding: publicKeyOf(draw()) });
const manifest = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const source = `@buildonspark/spark-sdk ${manifest.dependencies["@buildonspark/spark-sdk"]}`;

function write(name: string, cases: object[]): void {
  const target = new URL(`../../spark/${name}.json`, import.meta.url);
  const lines = cases.map((one) => `    ${JSON.stringify(one)}`).join(",\n");
  writeFileSync(target, `{\n  "source": ${JSON.stringify(source)},\n  "cases": [\n${lines}\n  ]\n}\n`);
}

const frost = getSparkFrost();

async function shareCase(operators: number, withAdaptor: boolean): Promise<object> {
  const [secret, group, message] = [draw(), draw(), draw()];
  const publicKey = publicKeyOf(secret);
  const verifyingKey = sum(publicKey, publicKeyOf(group));
  const nonce = { hiding: draw(), binding: draw() };
  const ids = Array.from({ length: operators }, (_, at) =>
    at % 3 === 2 ? draw() : Buffer.alloc(32, 0).fill(at + 1, 31),
  );
  const commitments = ids.map((id) => ({ id: hex(id), ...commitment() }));
  const adaptor = withAdaptor ? publicKeyOf(draw()) : undefined;
  const share = await frost.signFrost({
    message,
    keyPackage: { secretKey: secret, publicKey, verifyingKey },
    nonce,
    selfCommitment: { hiding: publicKeyOf(nonce.hiding), binding: publicKeyOf(nonce.binding) },
    statechainCommitments: Object.fromEntries(commitments.map(({ id, hiding, binding }) => [id, { hiding, binding }])),
    adaptorPubKey: adaptor,
  });
  return {
    secret: hex(secret),
    hidingNonce: hex(nonce.hiding),
    bindingNonce: hex(nonce.binding),
    message: hex(message),
    verifyingKey: hex(verifyingKey),
    operatorCommitments: commitments.map(({ id, hiding, binding }) => ({
      id,
      hiding: hex(hiding),
      binding: hex(binding),
    })),
    ...(adaptor ? { adaptorPublicKey: hex(adaptor) } : {}),
    share: hex(share),
  };
}

const shares: object[] = [];
for (const operators of [1, 2, 3, 5, 10]) {
  for (const withAdaptor of [false, true]) {
    const count =
      operators === 10 ? CASES_OF_EACH_KIND / 3 : operators === 3 ? 10 * CASES_OF_EACH_KIND : CASES_OF_EACH_KIND;
    for (let at = 0; at < count; at++) shares.push(await shareCase(operators, withAdaptor));
  }
}
write("frost", shares);

const payloads = Array.from({ length: 16 }, (_, at) => {
  const digits = hex(draw());
  const transferId = `${digits.slice(0, 8)}-${digits.slice(8, 12)}-7${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
  const names = ["é", "z", "operator", "a", `${"0".repeat(63)}2`, `${"0".repeat(63)}1`, "\u{1f511}", "\uff5e"];
  const packages = Object.fromEntries(
    names.slice(0, 1 + (at % 8)).map((name) => [name, draw().subarray(0, 1 + (at % 32))]),
  );
  const transfer = { keyTweakPackage: packages } as never;
  return {
    transferId,
    packages: Object.entries(packages).map(([operatorId, bytes]) => ({ operatorId, bytes: hex(bytes) })),
    transfer: hex(getTransferPackageSigningPayload(transferId, transfer)),
    claim: hex(getClaimPackageSigningPayload(transferId, packages)),
  };
});
write("payloads", payloads);
