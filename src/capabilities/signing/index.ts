import { signRawPayload } from "./sign-raw-payload.ts";
import { signRawPayloads } from "./sign-raw-payloads.ts";
import { signTransaction } from "./sign-transaction.ts";

export const signing = [signRawPayload, signRawPayloads, signTransaction];
