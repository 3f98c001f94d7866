import { Modal } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";

interface DialogProps {
  title: ReactNode;
  onClose: () => void;
  /** Whether a key or a click beside it may close it. */
  isEasilyClosed?: boolean;
  children: ReactNode;
}

/** A dialog for as long as it is drawn. */
export function Dialog({ title, onClose, isEasilyClosed = true, children }: DialogProps) {
  useFocusBack();
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
      closeOnClickOutside={isEasilyClosed}
      closeOnEscape={isEasilyClosed}
    >
      <div ref={markFirst}>{children}</div>
    </Modal>
  );
}

const FIELD = ":is(input, textarea, [contenteditable]):not(:disabled, [type=hidden])";

/**
 * Marks where the focus begins, unless the dialog says it: at the first field, or at all of what is to be read where there is none. The library
 * would take what stands first, which is the button that closes it.
 */
function markFirst(content: HTMLElement | null): void {
  if (!content || content.querySelector("[data-autofocus]")) return;
  const field = content.querySelector(FIELD);
  if (!field) content.tabIndex = -1;
  (field ?? content).setAttribute("data-autofocus", "");
}

/**
 * Gives the focus back to what had it before the dialog, or to the page's content where that is gone. The library does so where a dialog is
 * closed before it is taken away; ours are taken away at once.
 */
function useFocusBack(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // Once the dialog is gone: what has the focus then was given it on purpose.
      setTimeout(() => {
        if (document.activeElement !== document.body) return;
        const to = before instanceof HTMLElement && before.isConnected ? before : document.getElementById("main");
        to?.focus({ preventScroll: true });
      });
    },
    [before],
  );
}

/** Takes the focus when it is drawn: what had it in a dialog is gone with the form. */
export const takeFocus = (element: HTMLElement | null): void => element?.focus({ preventScroll: true });
