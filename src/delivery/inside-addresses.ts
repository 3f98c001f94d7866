import { isIPv4, isIPv6 } from "node:net";
import { isPublicAddress } from "./addresses.ts";
import { isLocalName } from "./url-rules.ts";

// Each part is bounded, or a long text would take long.
const IPV4 = /\d{1,3}(?:\.\d{1,3}){3}/g;
const IPV6 = /[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,8}(?:(?:\.\d{1,3}){3})?/gi;
const NAME = /[\w-]{1,63}(?:\.[\w-]{1,63})+/g;

/** The addresses and names in others' text that only exist in a private network, such as that of the operator. Strangers must not learn them. */
export const insideAddressesIn = (text: string): string[] => [
  ...found(text, IPV6, (one) => isIPv6(one) && !isPublicAddress(one)),
  ...found(text, IPV4, (one) => isIPv4(one) && !isPublicAddress(one)),
  ...found(text, NAME, (one) => isLocalName(one.toLowerCase())),
];

const found = (text: string, form: RegExp, isInside: (one: string) => boolean): string[] =>
  (text.match(form) ?? []).filter(isInside);
