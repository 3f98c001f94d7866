// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// Exchanges what it has at a fixed rate, for whoever calls it; tokens at the zero address are the chain's native asset.
contract SwapRouter {
    using SafeERC20 for IERC20;

    /// How a swap goes wrong.
    uint256 public constant HONEST = 0;
    uint256 public constant REVERTS = 1;
    uint256 public constant BRINGS_LESS = 2;
    uint256 public constant TAKES_MORE = 3;
    uint256 public constant TAKES_LESS = 4;
    uint256 public constant TAKES_ANOTHER = 5;

    error Unwilling(uint256 mode);
    error TooLittle(uint256 output);

    receive() external payable {}

    /// `mode` and `other` are as whoever made the call data wants it.
    function swap(
        address tokenIn,
        uint256 amountIn,
        address tokenOut,
        uint256 amountOut,
        uint256 minOut,
        address to,
        uint256 mode,
        address other
    ) external payable {
        if (mode == REVERTS) revert Unwilling(mode);
        uint256 taken = amountIn;
        if (mode == TAKES_MORE) taken = amountIn + 1;
        if (mode == TAKES_LESS) taken = amountIn / 2;
        if (tokenIn != address(0)) IERC20(tokenIn).safeTransferFrom(msg.sender, address(this), taken);
        if (mode == TAKES_ANOTHER) IERC20(other).safeTransferFrom(msg.sender, address(this), 1);
        uint256 brought = mode == BRINGS_LESS ? minOut - 1 : amountOut;
        if (mode != BRINGS_LESS && brought < minOut) revert TooLittle(brought);
        if (tokenOut == address(0)) {
            (bool isPaid, ) = to.call{value: brought}("");
            require(isPaid, "not paid");
        } else {
            IERC20(tokenOut).safeTransfer(to, brought);
        }
    }

    /// What is deposited here is paid out on another chain.
    function deposit(bytes32 id, address token, uint256 amount) external payable {
        if (token != address(0)) IERC20(token).safeTransferFrom(msg.sender, address(this), amount);
        emit Deposited(id, msg.sender, token, token == address(0) ? msg.value : amount);
    }

    event Deposited(bytes32 indexed id, address indexed from, address token, uint256 amount);
}
