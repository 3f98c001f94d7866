import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Copyable } from "./texts.tsx";

/** What came of a dialog that made something with addresses. */
export const Made = ({ addresses, children }: { addresses: readonly string[]; children: ReactNode }) => (
  <>
    <Text role="status">{children}</Text>
    {addresses.map((address) => (
      <Copyable key={address} text={address} label="address" whole />
    ))}
  </>
);
