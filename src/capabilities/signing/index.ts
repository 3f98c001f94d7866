import { signRawPayload } from "./sign-raw-payload.ts";
import { signRawPayloads } from "./sign-raw-payloads.ts";

export const signing = [signRawPayload, signRawPayloads];
