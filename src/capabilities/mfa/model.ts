import { type Static, Type } from "typebox";
import { authenticationTypes } from "../../authority/state.ts";
import { Id, List, OneOf, SomeOf, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_MFA_METHODS } from "../../kernel/limits.ts";

/** One method of each group is required. An empty list requires nothing, and so exempts from what a later policy requires. */
export const RequiredMethodsParams = List(
  Strict({
    any: SomeOf(Strict({ type: OneOf(authenticationTypes), id: Type.Optional(Id) }), MAX_MFA_METHODS),
  }),
  MAX_MFA_METHODS,
);
export type RequiredMethodsParams = Static<typeof RequiredMethodsParams>;

export const Order = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const withoutId = ["AUTHENTICATION_TYPE_EMAIL_OTP", "AUTHENTICATION_TYPE_SMS_OTP"];

/** @throws KeysteadError FIELD_INVALID for an id with a method that has none */
export function checkMethods(methods: RequiredMethodsParams): void {
  for (const [index, { any }] of methods.entries()) {
    for (const [position, { type, id }] of any.entries()) {
      if (id === undefined || !withoutId.includes(type)) continue;
      const field = `parameters.requiredAuthenticationMethods.${index}.any.${position}.id`;
      fail("FIELD_INVALID", { field, reason: `must be absent for ${type}, because a user has only one such address` });
    }
  }
}
