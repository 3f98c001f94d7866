import { capability } from "../../engine/capability.ts";
import { signRawPayload } from "./sign-raw-payload.ts";
import { signRawPayloads } from "./sign-raw-payloads.ts";
import { signTransaction } from "./sign-transaction.ts";

export const signing = capability({
  title: "Signing",
  operations: [signRawPayload, signRawPayloads, signTransaction],
});
