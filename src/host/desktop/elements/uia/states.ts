/** States of elements, by the numbers that the rest of the elements compares (`../said.ts`). */
import { STATE } from "../said";
import type { Facts } from "./facts";

/** Beside those of {@link STATE}: the window that the keyboard writes to (`ATSPI_STATE_ACTIVE`). */
const ACTIVE = 1;
const RADIO_BUTTON = 50_013;
const BUTTON = 50_000;
/** ToggleState on; ExpandCollapseState open, partly open, and nothing to open. */
const [ON, OPEN, PARTLY, LEAF] = [1, 1, 2, 3];

/** @param isActive whether it is the window in front. */
export function statesOf(facts: Facts, isActive: boolean): (state: number) => boolean {
  const isOn = facts.toggle === ON || (facts.type === RADIO_BUTTON && facts.isSelected);
  const has: ReadonlyMap<number, boolean> = new Map([
    [ACTIVE, isActive],
    [STATE.checked, isOn && facts.type !== BUTTON],
    [STATE.pressed, isOn && facts.type === BUTTON],
    [STATE.checkable, facts.toggle !== undefined || facts.type === RADIO_BUTTON],
    [STATE.editable, facts.isReadOnly === false],
    [STATE.enabled, facts.isEnabled],
    [STATE.expandable, facts.expand !== undefined && facts.expand !== LEAF],
    [STATE.expanded, facts.expand === OPEN || facts.expand === PARTLY],
    [STATE.focusable, facts.isFocusable],
    [STATE.focused, facts.isFocused],
    [STATE.selectable, facts.hasSelectionItem],
    [STATE.selected, facts.isSelected],
    [STATE.showing, !facts.isOffscreen && facts.bounds !== undefined],
    // What is hidden is not in the view of controls: what is off the screen can be scrolled to.
    [STATE.visible, true],
  ]);
  return (state) => has.get(state) === true;
}
