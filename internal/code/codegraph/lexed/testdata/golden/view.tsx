import React, { useState } from 'react';
import { Cart, total } from './cart';
import { Button } from './button';

interface Props<T> { items: T[]; onPick?: (item: T) => void }

/** Shows a list. Don't worry: it's text's apostrophes. */
export function List<T extends { id: string }>({ items, onPick }: Props<T>) {
  const [open, setOpen] = useState<boolean>(false);
  const less = items.length < 3 && open > 2;
  return (
    <>
      <p className="it's" data-total={total(items)}>Don't `call` Cart() {"or"} {'this'} // no comment {/* total() */}</p>
      <Button<T> kind='primary' onClick={() => setOpen(!open)} {...{ less }} />
      {items.map(item => (
        <li key={item.id} onClick={() => onPick?.(item)}>
          <Row item={item}/> &nbsp; {open ? <b>open</b> : <i>{`closed ${item.id}`}</i>}
        </li>
      ))}
    </>
  );
}

const Row = <T extends { id: string },>({ item }: { item: T }) => <span>{item.id} / {1 / 2}</span>;
export const Memo = React.memo(Row);
export class Panel extends React.Component<Props<string>> {
  state = { n: 1 };
  render() { return <List items={this.props.items}></List>; }
}
export default List;
