import { HDKey as Bip32 } from "@scure/bip32";
import { mnemonicToSeedSync } from "@scure/bip39";
import { HDKey as Slip10 } from "micro-key-producer/slip10.js";
import type { Curve } from "./keys.ts";

/** The mnemonic that most chains show their derivation paths with. */
export const MNEMONIC = `${"abandon ".repeat(11)}about`;
const seed = mnemonicToSeedSync(MNEMONIC);

/** Published addresses of the mnemonic, and those that wallets show for it. */
export const published: readonly [format: string, path: string, address: string][] = [
  ["COMPRESSED", "m/0'/0", "03038c1b21ba6eb640c4d325fcd23e62e1740b05364e2f8cf4d02036e506ad2aec"],
  [
    "UNCOMPRESSED",
    "m/0'/0",
    "04038c1b21ba6eb640c4d325fcd23e62e1740b05364e2f8cf4d02036e506ad2aecd9cb15112daf724a91668ab86915255e86b00dc2060181fae65d57d80a16aab9",
  ],
  ["ETHEREUM", "m/44'/60'/0'/0/0", "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"],
  ["SOLANA", "m/44'/501'/0'/0'", "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk"],
  ["COSMOS", "m/44'/118'/0'/0/0", "cosmos19rl4cm2hmr8afy4kldpxz3fka4jguq0auqdal4"],
  ["SEI", "m/44'/118'/0'/0/0", "sei19rl4cm2hmr8afy4kldpxz3fka4jguq0a3vute5"],
  ["TRON", "m/44'/195'/0'/0/0", "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH"],
  ["XRP", "m/44'/144'/0'/0/0", "rHsMGQEkVNJmpGWs8XUBoTBiAAbwxZN5v3"],
  ["DOGE_MAINNET", "m/44'/3'/0'/0/0", "DBus3bamQjgJULBJtYXpEzDWQRwF5iwxgC"],
  ["DOGE_TESTNET", "m/44'/1'/0'/0/0", "nZVmfmUtKPmskB9Ds4P9GUJy9eYFqPKHqH"],
  ["SUI", "m/44'/784'/0'/0'/0'", "0x5e93a736d04fbb25737aa40bee40171ef79f65fae833749e3c089fe7cc2161f1"],
  ["APTOS", "m/44'/637'/0'/0'/0'", "0xeb663b681209e7087d681c5d3eed12aaa8e1915e7c87794542c3f96e94b3d3bf"],
  ["XLM", "m/44'/148'/0'", "GB3JDWCQJCWMJ3IILWIGDTQJJC5567PGVEVXSCVPEQOTDN64VJBDQBYX"],
  ["TON_V3R2", "m/44'/607'/0'/0'/0'", "UQC4_unJ-jlbLt-3UO46cvKkyYI2-5LT9ZI3OpAvda2MpioL"],
  ["TON_V4R2", "m/44'/607'/0'/0'/0'", "UQDxAUFadQXDd3EXGa3TLF_EF66gMc9h3_aZ0j0zXNoIYUCc"],
  ["TON_V5R1", "m/44'/607'/0'/0'/0'", "UQDirP22rbgIZLzppawr2lJt42Xf3P9uJJtnbK-CnlqgiQFL"],
  ["SPARK_MAINNET", "m/8797555'/0'/0'", "spark1pgssy6vty7krpze82ecm8j39gd35v35aqjjmhftc4culawsavkyh564uc6zmqs"],
  ["BITCOIN_MAINNET_P2PKH", "m/44'/0'/0'/0/0", "1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA"],
  ["BITCOIN_MAINNET_P2SH", "m/49'/0'/0'/0/0", "37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf"],
  ["BITCOIN_MAINNET_P2WPKH", "m/84'/0'/0'/0/0", "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"],
  ["BITCOIN_MAINNET_P2WSH", "m/48'/0'/0'/2'/0/0", "bc1q9ar96k2zh9j5xf8vewfzgr7tvtl0x089gaagvucq74er953jayrsw58h7a"],
  ["BITCOIN_MAINNET_P2TR", "m/86'/0'/0'/0/0", "bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr"],
];

/** By BIP-32 on secp256k1, by SLIP-10 on Ed25519. */
export function publicKeyAt(curve: Curve, path: string): Uint8Array {
  if (curve === "CURVE_ED25519") return Slip10.fromMasterSeed(seed).derive(path).publicKeyRaw;
  const { publicKey } = Bip32.fromMasterSeed(seed).derive(path);
  if (publicKey === null) throw new Error(`no public key at ${path}`);
  return publicKey;
}
